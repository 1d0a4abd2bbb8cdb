// SPDX-License-Identifier: Apache-2.0
/// \file
/// What attention of a few queries per sequence should compute, in double precision.
#pragma once

#include "kernels/reference/Attention.h"

#include <optional>

namespace tlc::kernels {

/// Q is b x queries x kvHeads x group x d, K b x keys x kvHeads x d or, with a page size, pages
/// x pageSize x kvHeads x d; V and O have rows of dv; LSE is b x kvHeads x group x queries.
struct DecodeShape {
  AttentionProblem problem = {}; ///< but for types, sink and lengths
  int64_t queries = 1, kvHeads = 1, group = 1;
  int64_t keys = 0;          ///< of a sequence, at most
  int64_t pageSize = 0;      ///< 0: K and V are contiguous
  bool valuesInKeys = false; ///< rows of V are the first elements of K's, and `v` is K
};

struct DecodeInputs {
  std::span<const double> q, k, v;
  std::span<const double> lengths;    ///< of each sequence
  std::span<const double> table = {}; ///< b x ceil(keys / pageSize), if there are pages
  std::span<const double> sinks = {}; ///< kvHeads x group, or empty
};

/// Elements of O; a query that sees nothing gives zeros.
std::vector<double> referenceDecode(const DecodeShape &shape, const DecodeInputs &inputs,
                                    std::span<const int64_t> elements);
/// Elements of LSE, sinks included; -inf where nothing is seen.
std::vector<double> referenceDecodeLogSumExp(const DecodeShape &shape, const DecodeInputs &inputs,
                                             std::span<const int64_t> elements);

} // namespace tlc::kernels
