// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks of calls on sequences.
#include "kernels/library/call/SequenceCall.h"

#include "kernels/attention/problem/Describe.h"
#include "kernels/library/call/Mistake.h"

namespace tlc::kernels {

std::vector<std::string_view> axesOfRows(Lengths lengths, std::vector<std::string_view> axes) {
  if (lengths != Lengths::packed)
    axes.insert(axes.begin(), "b");
  return axes;
}

Result<void> LengthTensors::check(Lengths lengths) const {
  for (auto [name, tensor] : {std::pair("queryLengths", &queries), {"keyLengths", &keys}}) {
    if (lengths == Lengths::uniform && *tensor)
      return mistake(
          "argument '{}': expected none because option 'lengths' is uniform, but got one; say whether "
          "sequences are padded or packed",
          name);
    if (lengths == Lengths::padded && !*tensor)
      return mistake(
          "argument '{}': expected the sequences' lengths, one i32 of each, because option 'lengths' is "
          "padded, but got none",
          name);
    if (lengths == Lengths::packed && !*tensor)
      return mistake(
          "argument '{}': expected where the sequences begin, cumulative lengths of i32 from 0, one more "
          "than there are sequences, because option 'lengths' is packed, but got none",
          name);
  }
  return {};
}

void LengthTensors::addTo(Schema &schema, Lengths lengths) const {
  std::string_view sequences = lengths == Lengths::packed ? "b + 1" : "b";
  if (queries)
    schema.add("queryLengths", ElementType::i32, Access::input, {sequences}, *queries);
  if (keys)
    schema.add("keyLengths", ElementType::i32, Access::input, {sequences}, *keys);
}

Result<void> checkProblem(const Schema &schema, const AttentionProblem &problem) {
  std::string conflict = conflictOf(problem);
  if (conflict.empty())
    conflict = conflictOfHeads(schema.extent("h"), schema.extent("hkv"));
  if (conflict.empty() && problem.lengths == Lengths::uniform)
    conflict = conflictOfRows(problem.mask, "each sequence", schema.extent("sq"), schema.extent("sk"));
  if (!conflict.empty()) {
    Result<void> valid = checkOptions(schema.call(), problem); // what is wrong by itself goes first
    return valid ? mistake("{}: {}", schema.call(), conflict) : valid.error();
  }
  if (problem.lengths == Lengths::packed && schema.extent("b + 1") < 1)
    return mistake("argument 'queryLengths': expected at least 1 number, the begin of all, but got 0");
  return {};
}

} // namespace tlc::kernels
