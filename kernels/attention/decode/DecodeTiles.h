// SPDX-License-Identifier: Apache-2.0
/// \file
/// Extents of the tiles and roles of decoding, which the program and its heuristic share.
#pragma once

#include "kernels/attention/decode/Decode.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/roles/MathRole.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include <vector>

namespace tlc::kernels::decode {

/// Heads of a group, with room so that each query's rows begin where a part of a tile may.
inline int64_t paddedGroup(const DecodeConfig &c) { return alignTo(c.group, swizzleRows); }
inline std::vector<ColumnRange> partsOf(const DecodeConfig &c) {
  return columnParts(paddedValues(c.problem));
}
inline bool areApart(const DecodeConfig &c) { return c.values == ValueStorage::apart; }
/// ColumnRange of Q and K that make a tile: all, or V's parts and the rest where V lies in K.
inline std::vector<ColumnRange> depthPartsOf(const DecodeConfig &c) {
  if (areApart(c))
    return {{0, paddedDepth(c.problem)}};
  std::vector<ColumnRange> parts = partsOf(c);
  if (int64_t rest = paddedDepth(c.problem) - paddedValues(c.problem); rest != 0)
    parts.push_back({paddedValues(c.problem), rest});
  return parts;
}
/// Whether a tile has the rows of several queries of a head, then those of the next head.
inline bool isByHead(const DecodeConfig &c) { return c.together > 1; }
/// Tiles of rows of a head of K and V, with that number of queries, and their rows: queries times heads.
inline int64_t rowTiles(const DecodeConfig &c) {
  return isByHead(c) ? ceilDiv(c.queries, c.together) : ceilDiv(c.queries * paddedGroup(c), c.rows);
}
inline int64_t allRows(const DecodeConfig &c) {
  return isByHead(c) ? rowTiles(c) * c.rows : c.queries * paddedGroup(c);
}

/// Whether a block sees all keys of its rows, which are heads of one query: then nothing is left to be
/// joined.
inline bool isWhole(const DecodeConfig &c) {
  return c.arguments == DecodeArguments::cache && c.splits == 1 && c.queries == 1;
}

/// Whether a thread's registers have room for its queries: then the next part's may come at once.
inline bool holdsQueries(const DecodeConfig &c) { return paddedDepth(c.problem) <= 128; }
inline int64_t querySlots(const DecodeConfig &c) {
  return holdsQueries(c) || paddedDepth(c.problem) > 256 ? 1 : 2;
}
/// Warpgroups that compute.
inline int64_t warpgroups(const DecodeConfig &c) {
  return c.rows / rowsOfMathWarpgroup * int64_t(partsOf(c).size());
}

/// The roles' warps. Registers go from those that load to those that compute, where there are enough to begin
/// with.
struct Warps {
  dsl::RoleOptions load, math;
};
inline Warps warpsOf(const DecodeConfig &c) {
  dsl::RoleOptions math{.warps = mathWarps(c.rows)};
  if (c.residents > 2)
    return {.load = {.warps = 1}, .math = math};
  return {.load = {.warps = 4, .registers = 32}, .math = math};
}

} // namespace tlc::kernels::decode
