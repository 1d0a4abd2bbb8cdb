// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of matrices whose factors, or terms, lie on several ranks. Transfers between ranks run under the
/// products, tile by tile. All are deterministic: the same bits in every run.
#pragma once

#include "compiler/dsl/dsl.h"
#include "runtime/target/BlockBudget.h"

namespace tlc::kernels {

/// What moves rows or terms from one rank to another.
enum class Carrier : uint8_t {
  roles,      ///< roles of each block load and store them
  copyEngine, ///< copy engines, while tiles that need none of them are computed
};

struct RankGemmConfig {
  ElementType dtype = ElementType::bf16; ///< of A and B: f16 or bf16. Sums are in f32
  ElementType out = ElementType::bf16; ///< of C, and of the terms that ranks send each other: f16, bf16, f32
  int64_t bm = 128, bn = 256, bk = 64; ///< the tile of C that a block computes, and its step along k
  int64_t stages = 4;                  ///< steps whose copies are in flight
  int64_t group = 16;                  ///< rows of tiles that are walked together
  /// What n is known to be a multiple of, where tiles are sent: the TMA does if rows of C are whole units of
  /// 16 bytes.
  int64_t multipleOfColumns = 1;
  /// Whether rows of A and B do not begin at multiples of 16 bytes, so that the TMA loads copies of them.
  bool copiesRows = false;
  Carrier carrier = Carrier::roles; ///< not of `gemmAllReduceProgram`, which has roles
  // Of `gemmReduceScatterProgram` with copy engines.
  int64_t parts = 2;             ///< launches that compute terms
  int64_t piecesOfPart = 2;      ///< that a transfer moves, one after the other
  int64_t multiprocessors = 132; ///< of which these take whole rounds of tiles
};

/// What programs take of a block's shared memory beside the steps' factors.
BlockBudget allGatherGemmBudget(const RankGemmConfig &config, const Target &target);
BlockBudget gemmReduceBudget(const RankGemmConfig &config, const Target &target);

/// As many stages as shared memory holds beside the rest.
void fitStages(RankGemmConfig &config, const BlockBudget &rest);

/// C[owner] = A(owner) Bᵀ for all ranks: A, m x k, is each rank's own and goes to all; B, n x k, and C, ranks
/// x m x n, belong to one rank. A rank begins with its own rows, which it reads where they are, unless they
/// are copied because they do not begin at multiples of 16 bytes.
///
/// With `Carrier::copyEngine` a transfer beside the launch copies a rank's rows to the others, those of some
/// tiles in a round, in the order in which they need them, into a symmetric workspace of ranks x m x k.
///
/// With `Carrier::roles` two roles of every block fetch the others' rows into such a workspace of the rank.
/// Pieces of rows and tiles are dealt to the blocks that have started, and nobody waits for a piece that has
/// not been dealt, so that no number of blocks needs to run at once. A last launch ends when all ranks have
/// fetched: then A may change.
dsl::Program allGatherGemmProgram(const RankGemmConfig &config, const dsl::TraceOptions &options = {});

/// The sum over ranks of A[owner] Bᵀ, for each owner on that rank: A is ranks x m x k, B n x k, C m x n. A
/// rank computes the others' tiles in turn and sends them, rounded to the type of C, to where the owner has
/// room for each rank. Its own tiles come among them, a few rounds later than the others' terms of them; it
/// rounds them, too, and adds the terms in the order of the ranks. Tiles are dealt to the blocks that have
/// started, and wait for tiles with lower numbers alone, so that no number of blocks needs to run at once.
///
/// With `Carrier::copyEngine` launches compute the others' tiles, and a transfer after each one moves them,
/// under the products of the next. The last launch computes its own tiles, in the order in which the others'
/// terms of them come, and adds these to the sums in f32, in the order of the ranks.
dsl::Program gemmReduceScatterProgram(const RankGemmConfig &config, const dsl::TraceOptions &options = {});

/// The sum over ranks of A Bᵀ, on all ranks: A is m x k, B n x k, C m x n. Ranks own every `ranks`-th tile of
/// C, whose sums they make as above and store to all ranks. A second launch ends when all tiles have come.
dsl::Program gemmAllReduceProgram(const RankGemmConfig &config, const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
