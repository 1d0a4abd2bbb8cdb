// SPDX-License-Identifier: Apache-2.0
/// \file
/// What calls of attention on whole sequences have in common: axes, tensors of lengths, and checks of what is
/// computed.
#pragma once

#include "kernels/attention/problem/Options.h"
#include "kernels/library/call/Schema.h"

#include <optional>

namespace tlc::kernels {

/// With b before them, but of packed sequences.
std::vector<std::string_view> axesOfRows(Lengths lengths, std::vector<std::string_view> axes);

/// Where sequences begin or how long they are, if they are packed or padded.
struct LengthTensors {
  const std::optional<TensorView> &queries, &keys;

  /// Whether they are there as `lengths` says.
  Result<void> check(Lengths lengths) const;
  void addTo(Schema &schema, Lengths lengths) const;
};

/// After the schema's own check, which has extents h, hkv, sq and sk, and "b + 1" of packed sequences.
Result<void> checkProblem(const Schema &schema, const AttentionProblem &problem);

} // namespace tlc::kernels
