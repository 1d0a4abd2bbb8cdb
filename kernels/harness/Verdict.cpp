// SPDX-License-Identifier: Apache-2.0
/// \file
/// Errors of elements, first and worst.
#include "kernels/harness/Verdict.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// Above 1 where the error is not allowed.
double relativeError(const OutputVerdict &output) {
  if (output.limit > 0)
    return output.largestError / output.limit;
  return output.largestError > 0 ? std::numeric_limits<double>::infinity() : 0;
}

/// A wrong output before a right one, then by error.
bool isBetter(const OutputVerdict &a, const OutputVerdict &b) {
  if (a.correct() != b.correct())
    return a.correct();
  return relativeError(a) < relativeError(b);
}

} // namespace

void Verdict::add(OutputVerdict output) {
  auto known = std::ranges::find(each, output.name, &OutputVerdict::name);
  if (known == each.end()) {
    each.push_back(std::move(output));
  } else {
    output.compared += known->compared;
    output.elements += known->elements;
    if (!known->correct()) {
      output.complaint = known->complaint;
      output.firstWrong = known->firstWrong;
    }
    output.largestError = std::max(output.largestError, known->largestError);
    *known = std::move(output);
  }
  const auto firstWrong = std::ranges::find_if_not(each, &OutputVerdict::correct);
  static_cast<OutputVerdict &>(*this) = *std::ranges::max_element(each, isBetter);
  complaint = firstWrong == each.end() ? "" : firstWrong->complaint;
  compared = elements = 0;
  for (const OutputVerdict &one : each) {
    compared += one.compared;
    elements += one.elements;
  }
}

void Comparison::check(int64_t element, double actual, double expected) {
  ++count;
  const double error = errorOf(actual, expected, tolerance);
  largest = std::max(largest, error);
  if (error <= tolerance.limit)
    return;
  ++wrong;
  const Wrong found = {element, actual, expected, error};
  if (!first || element < first->element)
    first = found;
  if (!worst || error > worst->error)
    worst = found;
}

std::string Comparison::complaint(const std::string &output,
                                  const std::function<std::string(int64_t)> &indexText) const {
  if (!first)
    return {};
  std::string text = fmt::format(
      "element {} of '{}' is {}, but {} was expected: the error {:.3g} is above the limit {:.3g}",
      indexText(first->element), output, first->actual, first->expected, first->error, tolerance.limit);
  if (wrong == 1)
    return text + fmt::format("; the other {} compared elements are right", count - 1);
  text += fmt::format("; {} of {} compared elements are wrong, ", wrong, count);
  if (worst->element == first->element)
    return text + "this one has the largest error";
  return text + fmt::format("the largest error {:.3g} is at {}: {} instead of {}", worst->error,
                            indexText(worst->element), worst->actual, worst->expected);
}
