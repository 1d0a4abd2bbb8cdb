// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table.
#include "dialects/tile/AtomLayouts.h"

#include "llvm/ADT/STLExtras.h"

using namespace tlc;
using namespace tlc::tile;

static FragmentLayout leftOfMmaSync(int64_t m, int64_t k, int elementBits, WarpGrid units, const RowOrder &) {
  return mmaOperandA(m, k, elementBits, units);
}

static const AtomLayouts rows[] = {
    {MatrixAtom::wgmma, "wgmma", Unit::wgmma, warpsPerWarpgroup, wgmmaGrid, wgmmaAccumulator, wgmmaOperandA},
    {MatrixAtom::mma_sync, "mma.sync", Unit::mmaSync, 1, mmaGrid, mmaAccumulator, leftOfMmaSync},
};

const AtomLayouts *tile::findAtomLayouts(MatrixAtom atom) {
  const auto *found = llvm::find_if(rows, [&](const AtomLayouts &row) { return row.atom == atom; });
  return found == std::end(rows) ? nullptr : found;
}
