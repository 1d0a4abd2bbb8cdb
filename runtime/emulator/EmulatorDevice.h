// SPDX-License-Identifier: Apache-2.0
/// \file
/// Devices that execute PTX on the CPU. Their memory is host memory.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/emulator/check/RaceCheck.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tlc {

class Findings;      // runtime/emulator/report/Finding.h
struct Target;       // runtime/target/Target.h
struct TraceRequest; // runtime/emulator/trace/TraceRequest.h

/// When a transfer that launches run beside is made: before the first of them begins, or only when all that
/// runs waits.
enum class TransferTime : uint8_t { early, late };

struct EmulatorOptions {
  const Target *target = nullptr;            ///< the device to stand for; null: sm_90a
  int multiprocessors = 132;                 ///< as an H200 has; persistent grids have that many blocks
  unsigned hostThreads = 0;                  ///< 0: all cores
  uint64_t maximumSteps = uint64_t(1) << 32; ///< instructions of one warp before the launch fails
  RaceCheck raceCheck = RaceCheck::on;
  /// Another order of warps and completions than the usual one, the same for
  /// the same seed, on one host thread.
  std::optional<uint64_t> scheduleSeed = {};
  TransferTime transfers = TransferTime::early; ///< of an odd `scheduleSeed` they are late
  /// Called with what a kernel prints, by k.print or by printf in CUDA C++; empty: it goes to stderr.
  std::function<void(std::string_view)> print = {};
  /// Called with what a launch found, by the thread that runs it, before the
  /// same is returned as text.
  std::function<void(const Findings &)> onFindings = {};
  TraceRequest *trace = nullptr; ///< asks for a timeline; outlives the device
};

/// One device. Its launches run to completion and return what went wrong.
std::unique_ptr<Device> createEmulatorDevice(EmulatorOptions options = {});

/// Devices of one process, with the ordinals 0, 1, ..., that copy between each
/// other and, where peer access is enabled, reach each other's memory. Launches
/// are queued and run at the same time as those of the other devices, so that
/// kernels may wait for each other. Host threads are per device; 0: its share of
/// the cores. The devices may be destroyed in any order.
std::vector<std::unique_ptr<Device>> createEmulatorDevices(unsigned count, EmulatorOptions options = {});

/// What a device's launches have executed since it was created.
struct EmulatorStatistics {
  uint64_t warpInstructions = 0;   ///< instructions that some lane of a warp executed
  uint64_t threadInstructions = 0; ///< the same, counted for each lane
};
/// Nothing for a device that is not emulated.
std::optional<EmulatorStatistics> emulatorStatisticsOf(const Device &device);

} // namespace tlc
