// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CUDA runtime whose device is the emulator. Programs that nvcc compiled
/// link with it instead of NVIDIA's and find the functions that they call, as far as
/// CUTLASS's host code calls them. The PTX is what nvcc embedded in them.
#pragma once

#include "runtime/emulator/EmulatedMemory.h"
#include "runtime/emulator/exec/core/Program.h"
#include "runtime/emulator/report/NamedTensor.h"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tlc::test {

/// The device of this process, as CUDA's runtime has one.
class CudaRuntime {
public:
  static CudaRuntime &instance();

  /// Memory of the tensor's size, of which nothing is written; the caller names the rest.
  void *allocate(emulator::NamedTensor tensor);
  void copyToDevice(void *device, std::span<const std::byte> host);
  void fill(void *device, int value, size_t bytes);
  void freeAll();

  void addKernel(const void *hostFunction, const void *fatBinary, std::string name);

  struct LaunchShape {
    std::array<uint32_t, 3> grid, block, cluster = {1, 1, 1};
    size_t sharedBytes = 0;
  };
  /// Runs to completion.
  Result<void> launch(const void *hostFunction, const LaunchShape &shape, void *const *arguments);
  /// From now on kernels lack all instructions whose names begin so; empty: they lack none.
  void leaveOut(std::string instruction);
  /// On at first.
  void useChecker(RaceCheck check) { raceCheck = check; }
  /// Another order of what happens in launches from now on; nothing: the usual one.
  void useSchedule(std::optional<uint64_t> seed) { scheduleSeed = seed; }
  /// Whether something has failed, which stays so until somebody asks what.
  bool failed() const { return !error.empty(); }
  std::string takeError() { return std::exchange(error, {}); }

private:
  struct Kernel {
    const void *fatBinary = nullptr;
    std::string name;
    std::shared_ptr<const emulator::Program> program; ///< once it was launched
  };
  Result<void> run(Kernel &kernel, const LaunchShape &shape, void *const *arguments);

  EmulatedMemory memory;
  std::vector<emulator::NamedTensor> tensors;
  std::map<const void *, Kernel> kernels; ///< by their functions on the host
  RaceCheck raceCheck = RaceCheck::on;
  std::string leftOut;
  std::optional<uint64_t> scheduleSeed;
  std::string error;
};

} // namespace tlc::test
