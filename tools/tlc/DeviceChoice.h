// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flag `--device` and what it stands for, and the flags of the emulator.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/emulator/report/Finding.h"
#include "runtime/target/Target.h"

#include "llvm/Support/CommandLine.h"

#include <memory>
#include <optional>
#include <vector>

namespace tlc::driver {

enum class DeviceKind { emulator, cuda };

/// GPUs from that ordinal on, one for each rank.
Result<std::vector<std::unique_ptr<Device>>> openGpus(int first, int64_t ranks);

struct ChosenDevice {
  DeviceKind kind;
  std::vector<std::unique_ptr<Device>> ranks; ///< one of each rank

  Device &device() const { return *ranks.front(); }
};

/// The flag `--schedule`.
class ScheduleFlag {
public:
  explicit ScheduleFlag(llvm::cl::SubCommand &command);
  /// Its seeds, for a run each; nothing in place of a seed: the usual order.
  Result<std::vector<std::optional<uint64_t>>> seeds() const;

private:
  llvm::cl::opt<std::string> schedule;
};

/// Of every subcommand that runs something on the emulator.
class EmulatorFlags {
public:
  explicit EmulatorFlags(llvm::cl::SubCommand &command);
  /// What the flags say; an error names the flag and what it allows.
  Result<EmulatorOptions> options() const;
  /// Whether the command line says how many multiprocessors there are.
  bool namesMultiprocessors() const { return multiprocessors.getNumOccurrences() > 0; }

private:
  llvm::cl::opt<int> multiprocessors;
  llvm::cl::opt<std::string> raceCheck;
  llvm::cl::opt<bool> strict;
  llvm::cl::opt<uint64_t> maximumSteps;
};

class DeviceFlags {
public:
  explicit DeviceFlags(llvm::cl::SubCommand &command);
  /// `auto` takes the GPU if there is one, else the emulator. The emulator stands for `emulated`, or its
  /// default target when that is null, and adds what it finds to `findings`.
  /// `scheduleSeed` is `EmulatorOptions`'. Several ranks have emulated devices of their own, or so many GPUs
  /// from the one of --gpu on.
  Result<ChosenDevice> create(const Target *emulated, Findings &findings,
                              std::optional<uint64_t> scheduleSeed = {}, int64_t ranks = 1) const;
  /// True if the command line asks for the emulator.
  bool namesEmulator() const { return device == "emulator"; }
  Result<std::vector<std::optional<uint64_t>>> scheduleSeeds() const { return schedule.seeds(); }
  /// Of an emulated device, as the flags say.
  Result<EmulatorOptions> emulatorOptions() const { return emulator.options(); }

private:
  llvm::cl::opt<std::string> device;
  llvm::cl::opt<int> ordinal;
  EmulatorFlags emulator;
  ScheduleFlag schedule;
};

} // namespace tlc::driver
