// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of a candidate, each question in a process of its own: one that hangs, crashes, or breaks its
/// context on the GPU ends alone.
#pragma once

#include "kernels/harness/Problem.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/DeviceChoice.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tlc::driver {

/// What all candidates of a tuning have in common.
struct TuneSetting {
  const kernels::Kernel *kernel = nullptr;
  kernels::DefaultSizes sizes = kernels::DefaultSizes::usual;
  std::vector<std::string> fixedDimensions = {};
  CompileOptions options = {};
  CacheOptions cache = {};
  std::optional<Alignment> alignment = {};
  /// Called in processes only: one that has used a GPU cannot be forked.
  std::function<Result<ChosenDevice>(Findings &)> open = {};
  EmulatorOptions model = {}; ///< the device that the model stands for
  DeviceKind kind = DeviceKind::emulator;
  DeviceProperties device = {};
  std::chrono::seconds limit{20}; ///< of a process
  uint64_t seed = 0;              ///< of the inputs

  Result<kernels::Request> request(const kernels::Definitions &given,
                                   const kernels::Definitions &values) const;
};

/// What becomes of a candidate.
struct TuneAnswer {
  double microseconds = 0;  ///< 0: unknown
  std::string skipped = {}; ///< why it is not timed
  /// The reason may be gone the next time, such as a limit, a signal, or a lack of memory: a resumed tuning
  /// tries the candidate again.
  bool isPassing = false;
};

/// The device that is opened in such a process: its kind and properties.
Result<std::pair<DeviceKind, DeviceProperties>> askDevice(const TuneSetting &setting);

/// Compiles the candidate into the cache. It is skipped if it does not compile, or no block of it has room.
/// The time is that of the model of `tlc trace`, where that is affordable.
Result<TuneAnswer> prepareCandidate(const TuneSetting &setting, const kernels::Definitions &given,
                                    const kernels::Definitions &values);

/// Whether the outputs are compared first.
enum class TuneCheck : uint8_t { compare, skip };

/// Times the candidate on the GPU; on the emulator, whose time is no measure, it runs it once. It is skipped
/// if it fails, is wrong, spills registers, or has other tensors than the problem. An error is none of the
/// candidate's.
Result<TuneAnswer> timeCandidate(const TuneSetting &setting, const kernels::Definitions &given,
                                 const kernels::Definitions &values,
                                 const std::shared_ptr<const kernels::Problem> &problem, TuneCheck check);

} // namespace tlc::driver
