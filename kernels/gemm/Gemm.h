// SPDX-License-Identifier: Apache-2.0
/// \file
/// C = A B with sums in f32, or in i32 of integers: C is m x n, and the layout says how A and B lie. m, n, k
/// are runtime values of any size, 0 included, rows of any stride. A batch is a third, outermost axis of A, B
/// and C, of any stride: 0 where all products share a factor.
///
/// The epilogue of a tile: C = activation(scaleA scaleB (A B) + bias) + residual, each part if it is asked
/// for.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/reference/Reference.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <functional>

namespace tlc::kernels {

/// What is known of a tensor's rows, and what is done about it.
enum class GemmRows : uint8_t {
  any,       ///< nothing: the program has a variant for rows aligned to 16 bytes, and one for others
  unaligned, ///< the TMA cannot copy them; threads do
  repacked,  ///< the TMA cannot copy them; a launch before copies them to where it can
};

/// Where parts of k are summed.
enum class GemmSum : uint8_t {
  launch, ///< by a second launch, from a workspace
  /// By the blocks that computed them, a cluster, each its share of the tile's rows, in whole groups of 8.
  cluster,
};

enum class GemmScales : uint8_t {
  none,
  tensor, ///< one of A, one of B
  row,    ///< one of each row of C, by A, and of each column, by B
};
enum class GemmBias : uint8_t {
  none,
  column, ///< one of each column of C
};
enum class GemmActivation : uint8_t {
  none,
  relu, ///< max(x, 0)
  gelu, ///< x (1 + erf(x / sqrt(2))) / 2
  silu, ///< x / (1 + exp(-x))
};
enum class GemmResidual : uint8_t {
  none,
  tensor,  ///< a tensor like C
  inPlace, ///< what C was
};

struct GemmConfig {
  ElementType dtype = ElementType::bf16; ///< of A: f16, bf16, f32 (read as tf32), e4m3, e5m2 or i8
  /// Of B: as A's, or, of floats of 8 bits, the other one.
  std::optional<ElementType> dtypeOfB = std::nullopt;
  ElementType out = ElementType::bf16; ///< of C: f16, bf16, f32, e4m3, or i32 of i8
  GemmLayout layout = GemmLayout::tn;  ///< only tn with elements of 8 and of 32 bits
  GemmScales scales = GemmScales::none;
  GemmBias bias = GemmBias::none;
  GemmActivation activation = GemmActivation::none;
  GemmResidual residual = GemmResidual::none;
  bool isBatched = false;
  int64_t bm = 128, bn = 256, bk = 64; ///< the tile of C that a block computes, and its step along k
  int64_t stages = 4;                  ///< steps whose copies are in flight
  int64_t group = 16;                  ///< rows of tiles that are walked together
  dsl::TileScheduling tiles = dsl::TileScheduling::fixed; ///< with `dynamic` there are no clusters
  int64_t split = 1;                                      ///< parts of k that different blocks compute
  GemmSum sum = GemmSum::launch; ///< what makes one of the parts; with `cluster` blocks share no loads
  int64_t cluster = 1;           ///< blocks that share what they load
  dsl::ClusterAxis clusterAxis = dsl::ClusterAxis::rows; ///< rows share tiles of B, columns tiles of A
  int64_t residents = 1;                                 ///< blocks that share a multiprocessor
  dsl::WarpPolicy policy = dsl::WarpPolicy::fullRow;     ///< how warps share a product
  /// Whether products have B on the left: columns of C are their rows, of which the matrix units take 64, and
  /// rows of C their columns, of which they take any multiple of 8.
  bool swapped = false;
  bool storeRole = false; ///< a role of its own stores tiles of C
  GemmRows rowsOfA = GemmRows::any, rowsOfB = GemmRows::any;
  GemmRows rowsOfC = GemmRows::any; ///< not `repacked`
  /// Bytes that rows which are not `any` begin at multiples of: with 4 and 8 copies are asynchronous.
  int64_t alignmentOfA = 2, alignmentOfB = 2;

  ElementType elementOfB() const { return dtypeOfB.value_or(dtype); }
  /// Whether A is m x k, and B n x k.
  bool aRunsAlongK() const { return layout == GemmLayout::tn || layout == GemmLayout::nn; }
  bool bRunsAlongK() const { return layout == GemmLayout::tn || layout == GemmLayout::tt; }
  /// Rows and columns of a block's product.
  int64_t productRows() const { return swapped ? bn : bm; }
  int64_t productColumns() const { return swapped ? bm : bn; }
  /// In which products are summed.
  ElementType sumType() const { return dtype == ElementType::i8 ? ElementType::i32 : ElementType::f32; }
  /// Whether a tile of a swapped product is stored from where it turns in shared memory: nothing is left to
  /// compute.
  bool isStoredTurned() const { return swapped && split == 1 && !hasEpilogue() && rowsOfC == GemmRows::any; }
  /// Of that place.
  ElementType turnedType() const { return isStoredTurned() ? out : sumType(); }
  bool hasEpilogue() const {
    return scales != GemmScales::none || bias != GemmBias::none || activation != GemmActivation::none ||
           residual != GemmResidual::none;
  }
};

/// Bytes that rows of the tensors begin at multiples of; less than 16 is what the TMA cannot copy.
struct GemmAlignment {
  static constexpr auto ofTma = int64_t(TmaFacts().globalAlignment);
  int64_t a = ofTma, b = ofTma, c = ofTma;
};

/// What is wrong with the types, the layout and the epilogue; empty if nothing is.
std::string gemmConflict(const GemmConfig &problem);

/// The program of a configuration without a `gemmConflict`. `split` > 1 with `GemmSum::launch` adds a launch,
/// and a workspace of partial sums, each operand that is repacked a launch, and a workspace of its size.
dsl::Program gemmProgram(const GemmConfig &config, const dsl::TraceOptions &options = {});

/// What n is a multiple of: a role that stores needs whole units of the TMA.
int64_t multipleOfColumns(const GemmConfig &config);

/// Bytes of shared memory through which a warpgroup's part of a tile leaves, by panels.
inline constexpr int64_t stagingPerWarpgroup = 2 * panelRows * maxSwizzleBytes;

/// Rows of the smallest product that is chosen.
inline constexpr int64_t leastProductRows = 64;

/// Rows of the tallest tile whose warpgroups have 64 each. Of taller ones two warpgroups have half each.
inline constexpr int64_t tallestOfOneWarpgroup = 192;

/// Stages that long steps, and sums by a cluster, must leave room for, else copies are late: with two of them
/// sums by a cluster took 1.3 to 2.5 times as long as by a launch.
inline constexpr int64_t leastStages = 4;

/// As many stages as shared memory holds beside the epilogue's buffers, eight at most: more hide nothing.
int64_t stagesThatFit(const GemmConfig &config, const Target &target);
void fitGemmStages(GemmConfig &config, const Target &target);

/// A step along k whose rows are those of the widest swizzle.
inline int64_t gemmStep(ElementType dtype) { return maxSwizzleBytes / int64_t(sizeInBytes(dtype)); }

struct GemmExtents {
  int64_t m = 0, n = 0, k = 0, batch = 1;
};

/// Which factor products may have on the left.
enum class LeftFactor : uint8_t { a, any };

/// Gets a configuration without its stages, and the clock cycles that the model says of it.
using GemmCandidate = std::function<void(const GemmConfig &, double)>;

/// Calls `visit` for all configurations that `chooseGemmConfig` chooses among, larger tiles first: among
/// equals they read the least.
void forEachGemmCandidate(const GemmExtents &extents, const GemmConfig &problem, const Target &target,
                          GemmAlignment alignment, LeftFactor left, const GemmCandidate &visit);

/// A good configuration for a problem of that size on the reference device of `target`: `problem`, whose
/// types, layout and epilogue stay, with another tile and all that follows from it.
GemmConfig chooseGemmConfig(const GemmExtents &extents, const GemmConfig &problem, const Target &target,
                            GemmAlignment alignment = {}, LeftFactor left = LeftFactor::any);

} // namespace tlc::kernels
