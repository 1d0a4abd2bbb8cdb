// SPDX-License-Identifier: Apache-2.0
/// \file
/// The exchange of rows between tokens and experts that are on other ranks. Deterministic: the same bits in
/// every run.
#pragma once

#include "compiler/dsl/dsl.h"

namespace tlc::kernels {

struct MoeExchangeConfig {
  ElementType dtype = ElementType::bf16; ///< of rows; sums are in f32
  int64_t topk = 8;                      ///< experts of a token, its slots
  int64_t tile = 1024;                   ///< elements of a row that a block moves at once
  int64_t blocks = 8;                    ///< for each multiprocessor: more copies are in flight
  /// What `hidden` is known to be a multiple of: rows of whole units of 16 bytes are moved in these.
  int64_t multipleOfHidden = 1;
};

/// Sends row t of X[tokens, hidden] to the experts Experts[t, slot], for each of `topk` slots; all ranks have
/// as many tokens. Experts are numbers from 0 to `experts` - 1. Rank r has those from r * ceil(experts /
/// ranks) on, as many at most.
///
/// - Rows[capacity, hidden]: the rows for this rank's experts, expert by expert, those of an expert in the
///   order of source ranks, of tokens, of slots. Rows after the last one are left as they are.
/// - Ends[ceil(experts / ranks)]: the position after the last row of each of its experts, as grouped products
///   take it.
/// - Place[tokens, topk, 2]: the rank and the row that got this one, or -1 and -1 if it was dropped: where
///   the number is of no expert, or the rank has no room left.
/// - Counts[experts]: rows for each expert from all ranks, also those that were dropped for want of room. A
///   rank has room if the sum of its experts' is at most `capacity`.
///
/// Ranks * tokens * topk is at most 2^31 - 1. A first launch counts the experts of groups of tokens, the
/// second one sums up the counts and sends them to all ranks, the third one finds where each expert's rows
/// begin, the fourth one each row's place, and the fifth one stores rows to the memory of their ranks. The
/// sixth one ends when all have come. Blocks wait for earlier launches alone.
dsl::Program moeDispatchProgram(const MoeExchangeConfig &config, const dsl::TraceOptions &options = {});

/// Y[tokens, hidden] = the sum over slots, in their order, of Weights[token, slot], f32, times row
/// `Place[token, slot]` of what the experts made of Rows, on the rank that has it. A slot that was dropped
/// adds nothing, whatever its weight. A second launch ends when all ranks have read this one's rows.
dsl::Program moeCombineProgram(const MoeExchangeConfig &config, const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
