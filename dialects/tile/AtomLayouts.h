// SPDX-License-Identifier: Apache-2.0
/// \file
/// How each matrix instruction spreads its operands over threads, as one table.
#pragma once

#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/TileAttrs.h"
#include "runtime/target/Units.h"

namespace tlc::tile {

struct AtomLayouts {
  MatrixAtom atom;
  const char *name; ///< for messages
  Unit unit;
  int64_t unitWarps; ///< that make one instruction together
  WarpGrid (*grid)(int64_t m, int64_t n, int64_t units, tlc::WarpPolicy policy);
  FragmentLayout (*accumulator)(int64_t m, int64_t n, WarpGrid units);
  /// Of the left factor in registers; `order` is the right factor's along k.
  FragmentLayout (*left)(int64_t m, int64_t k, int elementBits, WarpGrid units, const RowOrder &order);
};

/// The instruction's row, or null: it takes fragments of any layout.
const AtomLayouts *findAtomLayouts(MatrixAtom atom);

} // namespace tlc::tile
