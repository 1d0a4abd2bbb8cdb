// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tries mutants of a program, several at a time, and says what found each.
#pragma once

#include "runtime/emulator/report/Finding.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::mutate {

/// What tells a mutant from the program as it was.
enum class Detection : uint8_t {
  none,
  refused,     ///< it does not load
  checker,     ///< two accesses that nothing orders, a read of what was never written, and the like
  deadlock,    ///< warps wait for ever
  fault,       ///< an instruction with operands that it must not have
  wrongResult, ///< other results than the reference's
};
inline constexpr size_t detectionCount = 6;
/// "checker"; of `none` "missed".
std::string_view toString(Detection detection);

/// By what a finding of that kind is.
Detection detectionOf(FindingKind kind);

struct Outcome {
  Detection detection = Detection::none;
  std::string message; ///< what was said
};

/// Runs a module instead of the kernel's own. May be called by several threads at a time.
using Trial = std::function<Outcome(const std::string &ptx)>;

/// Told how many of how many mutants have their outcome; called by several threads at a time.
using OnTried = std::function<void(size_t tried, size_t mutants)>;

/// One outcome for each of so many mutants, of which `trial` gets the number. `threads` 0: all cores.
std::vector<Outcome> tryAll(size_t mutants, const std::function<Outcome(size_t)> &trial, unsigned threads = 0,
                            const OnTried &onTried = {});

} // namespace tlc::mutate
