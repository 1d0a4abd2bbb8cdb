// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs traced programs with tensors whose memory the test lays out: on the emulator, or on a GPU.
#pragma once

#include "compiler/dsl/dsl.h"
#include "compiler/pipeline/Options.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/device/Device.h"

#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace tlc::test {

inline constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// A tensor with all the memory between its first and last element.
struct Memory {
  ElementType element = ElementType::f32;
  std::vector<int64_t> shape, strides;
  std::vector<double> values;         ///< of the memory; what no element of the tensor is must not change
  std::vector<Memory *> members = {}; ///< of a table of addresses, null where there is none

  /// A table of their addresses.
  static Memory table(std::vector<Memory *> members);

  /// Contiguous but for `padding` elements after each of the axes of stride 1; the same value everywhere.
  static Memory filled(ElementType element, std::vector<int64_t> shape, double value, int64_t padding = 0);
  double &at(std::span<const int64_t> position);
  double &at(std::initializer_list<int64_t> position) {
    return at(std::span(position.begin(), position.size()));
  }
};

inline CompileOptions compilingFor(const std::string &target) {
  CompileOptions options;
  options.target = target;
  return options;
}

/// The artifact, which is compiled once in a process; fails the running test with what the compiler said.
Artifact compiled(dsl::Program program, const CompileOptions &options = {});

/// The device that programs of `target` run on: the emulator with its checker on, as many multiprocessors,
/// or, in programs_cuda_test, a GPU where it can run them.
/// `print` takes what its kernels print.
std::unique_ptr<Device> openDevice(const std::string &target, int multiprocessors,
                                   std::function<void(std::string_view)> print = {});

/// Launches on that device; the tensors, in the order of the artifact, come back changed. Workspaces are
/// poisoned, if they are not among them.
/// The error is what the device said.
Result<void> tryRun(const Artifact &artifact, const std::vector<Memory *> &tensors, int multiprocessors = 3);
/// The same; an error fails the running test.
void run(const Artifact &artifact, const std::vector<Memory *> &tensors, int multiprocessors = 3);

/// Whether some launch of the first variant copies through a tensor map with a limited axis.
bool hasLimitedMap(const Artifact &artifact);

} // namespace tlc::test
