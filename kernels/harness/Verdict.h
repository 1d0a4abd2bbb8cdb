// SPDX-License-Identifier: Apache-2.0
/// \file
/// What comparing outputs with their references came to.
#pragma once

#include "kernels/Tolerance.h"
#include "runtime/support/Hash.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tlc::kernels {

/// Of one output, on all ranks together.
struct OutputVerdict {
  std::string name = {};
  double largestError = 0; ///< in the sense of `Tolerance`
  double limit = 0;
  int64_t compared = 0, elements = 0;
  std::string complaint = {}; ///< what is wrong, with indices and values; empty if the output is right
  /// The row-major number of the first wrong element, of the first rank that has one; nothing where none is
  /// wrong, or something else is.
  std::optional<int64_t> firstWrong = {};

  bool correct() const { return complaint.empty(); }
};

/// Of all outputs. The numbers are those of the output whose error is the largest relative to its limit.
struct Verdict : OutputVerdict {
  std::vector<OutputVerdict> each = {}; ///< in the order of the outputs
  Hash128 outputs =
      {}; ///< of all bytes of the outputs: equal for runs of the same seed that agree bit for bit

  /// Adds an output, or what another rank's tensor of that name came to.
  void add(OutputVerdict output);
};

/// Compares elements of one output with what is expected of them.
class Comparison {
public:
  explicit Comparison(Tolerance tolerance) : tolerance(tolerance) {}

  void check(int64_t element, double actual, double expected);
  double largestError() const { return largest; }
  int64_t compared() const { return count; }
  std::optional<int64_t> firstWrong() const { return first ? std::optional(first->element) : std::nullopt; }
  /// The first wrong element, how many are wrong, and the one with the largest error; empty if none is wrong.
  std::string complaint(const std::string &output,
                        const std::function<std::string(int64_t)> &indexText) const;

private:
  struct Wrong {
    int64_t element;
    double actual, expected, error;
  };

  Tolerance tolerance;
  double largest = 0;
  int64_t count = 0, wrong = 0;
  std::optional<Wrong> first, worst; ///< the first is the one of the lowest number
};

} // namespace tlc::kernels
