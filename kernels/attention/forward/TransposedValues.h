// SPDX-License-Identifier: Apache-2.0
/// \file
/// V with its axes exchanged, in a workspace: products of 8-bit elements take factors that are contiguous
/// along the sum alone, which is over keys.
#pragma once

#include "kernels/attention/forward/ForwardArguments.h"

#include <algorithm>
#include <functional>

namespace tlc::kernels {

/// Written by a launch of its own, once for all row tiles of O that read it.
class TransposedValues {
public:
  TransposedValues(dsl::Scope &k, const ForwardConfig &config, const ForwardArguments &arguments);

  /// The launch. Keys after a sequence's last one get zeros.
  void write() const;
  /// Loads tile j of keys into `slot`, dv x bk.
  void load(const QueryTile &tile, const dsl::Index &j, const dsl::Shared &slot) const;

  /// Tiles of keys must not straddle those of the workspace.
  static constexpr int64_t keysOfTile = 128;

private:
  /// The tensor in which a tile of keys is, and where.
  struct Place {
    const dsl::Global &tensor;
    dsl::Index batch, row;
  };
  /// Does `body` with the place of the tile with key `key`.
  void at(const Sequence &sequence, const dsl::Index &key,
          const std::function<void(const Place &)> &body) const;
  /// A part of V's columns, of a tile.
  dsl::Slice columns(const Place &place, const dsl::Index &head, int64_t first, const dsl::Index &key,
                     int64_t keys) const;
  bool isUniform() const { return c.problem.lengths == Lengths::uniform; }
  bool isPacked() const { return c.problem.lengths == Lengths::packed; }
  int64_t columnsAt(int64_t first) const { return std::min(c.problem.dv - first, keysOfTile); }

  dsl::Scope &k;
  const ForwardConfig &c;
  const ForwardArguments &p;
  // Square tiles, of packed sequences those of all of them one after the other: where the keys of one are
  // rows of V, its columns are rows here, of all of its keys. A sequence's last tile that is not whole has
  // too few keys for that.
  dsl::Global whole, last;
};

} // namespace tlc::kernels
