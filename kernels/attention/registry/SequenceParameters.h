// SPDX-License-Identifier: Apache-2.0
/// \file
/// What entries of the registry on whole sequences have in common: numbers of heads and rows as parameters,
/// the tensors that forward and backward both read, and the shape that references take.
#pragma once

#include "kernels/Registry.h"
#include "kernels/attention/problem/Options.h"
#include "kernels/reference/Attention.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace tlc::kernels {

struct AttentionExtents {
  int64_t b, sq, sk, h, hkv; ///< of packed sequences: `sq` and `sk` are the rows of all of them
  std::vector<int64_t> queries = {}, keys = {}; ///< of each sequence, where they differ; else empty

  int64_t queriesOf(size_t sequence) const { return queries.empty() ? sq : queries[sequence]; }
  int64_t keysOf(size_t sequence) const { return keys.empty() ? sk : keys[sequence]; }
  int64_t longestKeys() const;
};

/// `b`, `sq`, `sk`, `h` and `hkv`; `length` is the default of `sq` and `sk`.
std::vector<Parameter> extentParameters(const std::string &length);
/// Sequences that are packed, or padded.
std::vector<Parameter> packedParameters();
std::vector<Parameter> paddedParameters();

Lengths lengthsOf(const Parameters &values);
AttentionExtents extentsOf(const Parameters &values);
/// What is wrong with lengths of packed sequences, and where parameters that follow from them are given, too;
/// empty if nothing is.
std::string conflictOfPacked(const Parameters &values, std::initializer_list<const char *> following);
/// What is wrong with numbers of heads and rows, and with options together; empty if nothing is.
std::string conflictOfSequences(const AttentionProblem &problem, const Parameters &values);

/// b x rows x heads x ..., or, of packed sequences, without b.
std::vector<int64_t> shapeOfRows(const AttentionProblem &problem, std::vector<int64_t> axes);
/// Q, K and V, factors of 8-bit elements, lengths and sinks: as `Inputs` declares them.
std::vector<TensorSpec> inputSpecs(const AttentionProblem &problem, const AttentionExtents &extents);
/// Which elements of a tensor of b x rows x ... lie after the rows that `lengths` counts.
std::function<bool(int64_t)> paddingOf(const TensorSpec &spec, const std::vector<int64_t> &lengths);

AttentionShape attentionShape(const AttentionProblem &problem, const AttentionExtents &extents);

} // namespace tlc::kernels
