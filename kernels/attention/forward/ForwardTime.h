// SPDX-License-Identifier: Apache-2.0
/// \file
/// A model of attention forward's time, in clock cycles, by which tiles and forms are chosen: what the
/// multiprocessor with the most tiles computes, and what memory delivers meanwhile.
#pragma once

#include "kernels/attention/forward/Forward.h"
#include "runtime/target/Target.h"

namespace tlc::kernels {

/// Keys that a tile of queries, or a part of its keys, takes as long as beside its own: it begins and ends.
inline constexpr int64_t keysOfTileEnds = 128;

/// What a choice must gain by the model, over the usual one, which was measured at more shapes.
inline constexpr double leastGain = 1.25;

/// What 64 rows of scores of a warpgroup take for each key.
struct KeyCycles {
  double products; ///< of the multiprocessor's matrix units
  double softmax;  ///< of its schedulers: an exponential, and what comes with it
  double loads;    ///< of its port to L2, by which key and value come to a block

  KeyCycles(const AttentionProblem &problem, const Target &target);
  /// For each key of `warpgroups` warpgroups of an explicit block. One by itself computes the softmax of a
  /// tile of keys under the product of the tile before with V; two and more alternate, until units are never
  /// idle.
  double ofBlock(int64_t warpgroups) const;
};

/// Keys from the first to the last one that queries of a sequence see, at most.
int64_t keysSeen(const AttentionProblem &problem, const ForwardExtents &extents);

/// The same of the queries of a tile of `rows`: a window ends on both sides of it.
int64_t keysOfTile(const AttentionProblem &problem, const ForwardExtents &extents, int64_t rows);

/// In which memory delivers all keys and values once.
double memoryTime(const AttentionProblem &problem, const ForwardExtents &extents, const Target &target);

/// Of blocks that see all keys of a tile of `rows` queries, whatever memory does.
double wholeKeysTime(const AttentionProblem &problem, const ForwardExtents &extents, int64_t rows,
                     const Target &target);

} // namespace tlc::kernels
