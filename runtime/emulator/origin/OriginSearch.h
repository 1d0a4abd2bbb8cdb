// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where an element of a tensor comes from: who wrote it last, from which registers, and what these were
/// computed from, back to loads of other tensors. A program is run again and again, each time the same on one
/// host thread; a run finds the last writers of some places in memory, and what some warps executed before
/// they wrote.
#pragma once

#include "runtime/emulator/report/Finding.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc::emulator {

class LaunchObserver;
class OriginState; // SearchState.h

/// Bytes of a tensor of the launches, from its first element on.
struct TensorBytes {
  std::string tensor;
  uint64_t offset = 0;
  unsigned bytes = 0;
  bool operator==(const TensorBytes &) const = default;
};

/// Something that a value went through.
struct OriginStep {
  FindingSite site = {};
  std::string text;                        ///< "writes 3.25 (f32)"
  std::optional<TensorBytes> element = {}; ///< that is read or written
  bool isRead = false;
  std::optional<uint64_t> bits = {}; ///< of the element, from the lowest on, where they are known
  size_t reader = 0;                 ///< the step that this one is the origin of; of the first step itself
};

class OriginSearch {
public:
  /// Of at most 8 bytes; ends after `mostSteps`.
  OriginSearch(TensorBytes element, size_t mostSteps);
  ~OriginSearch();

  /// True if another run would add steps.
  bool needsRun() const;
  /// Before a run.
  void beginRun();
  /// For a launch of the run.
  std::unique_ptr<LaunchObserver> observe();
  /// After a run, whose memory is still there.
  void endRun();

  std::span<const OriginStep> steps() const;

private:
  std::unique_ptr<OriginState> state;
};

} // namespace tlc::emulator
