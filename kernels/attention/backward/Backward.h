// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward: dQ, dK and dV, the gradients of Q, K and V, from these, O, LSE and dO, the gradient of
/// O. Tensors have the shapes of attention forward's, gradients those of what they belong to; O and LSE are
/// what forward gives for the same options. Rows of padding are neither read nor written.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/mask/Mask.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/Options.h"
#include "kernels/attention/schedule/TileOrder.h"
#include "runtime/target/Target.h"

#include <optional>
#include <string>
#include <vector>

namespace tlc::kernels {

/// The type of gradients.
enum class GradientType : uint8_t {
  same, ///< that of Q, K and V
  f32,
};

/// How the gradients of queries are summed up over keys.
enum class QuerySum : uint8_t {
  atomic,    ///< blocks that have tiles of keys add to a workspace in f32, in no fixed order
  ownLaunch, ///< a launch over tiles of queries computes scores again: the same bits in every run
  ordered,   ///< such blocks add one after the other, later keys first: the same bits in every run
  tma,       ///< such blocks leave tiles in shared memory, which the TMA adds, in no fixed order
};
/// Whether blocks that have tiles of keys add to dQ.
inline bool addsQuerySums(QuerySum dq) { return dq != QuerySum::ownLaunch; }

/// How the gradients of keys are summed up over the query heads that share them.
enum class KeySum : uint8_t {
  loop,   ///< a block walks over these heads
  split,  ///< blocks, each with one of them, have slices of a workspace, which a launch sums up
  atomic, ///< such blocks add to a workspace in f32, in no fixed order
};

/// Who writes the zeros of dK and dV that belong to keys which no query sees.
enum class UnseenKeys : uint8_t {
  loop,      ///< the loop over tiles of keys, as any sum
  ownLaunch, ///< a launch before it, which fills memory faster; the loop passes over these tiles
};

/// Who says which products overlap, and what runs under them.
enum class ProductOverlap : uint8_t {
  scheduled, ///< the compiler, of whatever products the target has
  byHand,    ///< the program starts and awaits them, which takes wgmma
};

struct BackwardConfig {
  AttentionProblem problem = {}; ///< what is computed, on f16 or bf16
  GradientType gradients = GradientType::same;
  ElementStride strideOfOutputGradient = ElementStride::one; ///< of dO; `any`: the first launch copies it

  // How.
  QuerySum dq = QuerySum::atomic;
  KeySum dkv = KeySum::loop;
  int64_t bq = 64, bk = 128; ///< queries and keys of the tile of scores that a block computes at once; in a
                             ///< launch over queries the other way round
  int64_t stages = 2;        ///< tiles of queries that are in shared memory
  TileDealing dealing = TileDealing::fixed; ///< of tiles of keys, in the explicit form
  UnseenKeys unseen = UnseenKeys::loop;     ///< `ownLaunch`: without a `conflictOfUnseenKeys`
  AttentionForm form = AttentionForm::explicitRoles;
  ProductOverlap overlap = ProductOverlap::scheduled; ///< of the plain form
  /// Of the explicit form, the other tiles there.
  struct Slots {
    int64_t keys = 1;     ///< tiles of K and of V; with two, copies of the next one run under this one
    int64_t outputs = 2;  ///< of dO
    int64_t products = 1; ///< of gradients of scores
  } slots = {};

  ElementType gradientType() const {
    return gradients == GradientType::f32 ? ElementType::f32 : problem.dtype;
  }
};

/// Whether blocks take tiles of keys when they are ready for them. In order they take one each.
inline bool takesTiles(const BackwardConfig &config) {
  return config.dealing == TileDealing::taken && config.form == AttentionForm::explicitRoles &&
         config.dq != QuerySum::ordered;
}
/// Numbers of such tiles in shared memory: copies run ahead, stores come after.
inline constexpr int64_t takenTileSlots = 4;

// Tiles of dQ in shared memory that the TMA adds, if it does: of whole rows, or, with narrow tiles of keys,
// of some columns.
inline constexpr int64_t querySumSlots = 1;
inline constexpr int64_t narrowQuerySumSlots = 2, narrowQuerySumColumns = 64;

/// Elements of a row in shared memory and in registers, zeros after the tensor's.
int64_t paddedRow(int64_t length);

/// The tiles that a row of so many elements has a part of in shared memory, and the sums of gradients: two
/// warpgroups can share the columns of each. They take whole panels each, or half of one that is alone.
std::vector<ColumnRange> gradientParts(int64_t paddedRow);

/// Elements of a row of Q and K, and of V and O, at most: gradients of a tile are in registers.
inline constexpr int64_t longestGradientRow = 256;

/// Whether two warpgroups cannot have rows of keys each. In the explicit form one then has dV and one dK; in
/// the plain form they share columns, and weights and gradients of scores go through shared memory.
bool hasNarrowTiles(const BackwardConfig &config);

/// The tile of scores in a launch over queries.
struct QueryTile {
  int64_t queries, keys;
};
QueryTile queryTile(const BackwardConfig &config);

/// What is wrong with tiles; empty if nothing is.
std::string conflictOfTiles(const BackwardConfig &config);

/// What is wrong with how sums are made; empty if nothing is.
std::string conflictOfSums(const BackwardConfig &config);

/// What keeps a launch from writing the zeros of keys that no query sees; empty if nothing does.
std::string conflictOfUnseenKeys(const BackwardConfig &config);

/// What is asked of the schedule; what is left open is chosen.
struct ScheduleOptions {
  std::optional<QuerySum> dq = {};
  std::optional<KeySum> dkv = {};
  bool isDeterministic = false; ///< whether every run has the same bits
  std::optional<TileDealing> dealing = {};
  std::optional<UnseenKeys> unseen = {};
  std::optional<ProductOverlap> overlap = {};
};
/// True if blocks add in no fixed order.
bool isUnordered(QuerySum dq);
inline bool isUnordered(KeySum dkv) { return dkv == KeySum::atomic; }

/// Numbers of rows and heads that choices depend on; packed sequences count as one.
struct BackwardExtents {
  int64_t sequences, queries, keys, heads, kvHeads;
  int64_t ranks = 1; ///< that have so many queries each, and the keys together
};
/// Chooses how sums are made, for tiles that are chosen already.
void chooseSums(BackwardConfig &config, const ScheduleOptions &options, const BackwardExtents &extents,
                const Target &target);
/// Takes over how tiles of keys come to blocks, or chooses it, for sums that are chosen already.
void chooseDealing(BackwardConfig &config, std::optional<TileDealing> given, const BackwardExtents &extents);
/// Takes over who writes zeros of unseen keys, or chooses it, for a schedule that is chosen otherwise.
void chooseUnseenKeys(BackwardConfig &config, std::optional<UnseenKeys> given,
                      const BackwardExtents &extents);

/// Chooses the tiles for what is to be computed, in its form.
void chooseTiles(BackwardConfig &config);
/// Chooses fewer keys where a block of the target has no room for the tiles of the plain form.
void fitTiles(BackwardConfig &config, const Target &target);
/// Chooses how many of them are in shared memory, for sums that are chosen already. The explicit form has two
/// tiles of queries at least.
void chooseSlots(BackwardConfig &config, const BackwardExtents &extents, const Target &target);
/// Takes over who orders the plain form's products, or chooses it, for tiles that are chosen already.
void chooseOverlap(BackwardConfig &config, std::optional<ProductOverlap> given, const Target &target);

/// All choices but that of tiles, for tiles that are chosen already.
void chooseScheduleOfTiles(BackwardConfig &config, const ScheduleOptions &options,
                           const BackwardExtents &extents, const Target &target);
/// All choices, for what is to be computed, in its form. `conflictOfSums` then says what is wrong.
void chooseSchedule(BackwardConfig &config, const ScheduleOptions &options, const BackwardExtents &extents,
                    const Target &target);

/// With dropout the program has the plain form whatever `form` says.
dsl::Program backwardProgram(const BackwardConfig &config, const dsl::TraceOptions &options = {});
/// With a mask of one's own instead of the problem's, which must be that of forward. With
/// `UnseenKeys::ownLaunch` all heads that share keys see the same ones, as with the problem's masks.
dsl::Program backwardProgram(const BackwardConfig &config, const Mask &mask,
                             const dsl::TraceOptions &options = {});
/// With a mask that reads tensors of its own: inputs after LSE.
dsl::Program backwardProgram(const BackwardConfig &config, const MaskMaker &makeMask,
                             const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
