// SPDX-License-Identifier: Apache-2.0
/// \file
/// What statements about slices have in common: destinations, and a position per element.
#pragma once

#include "compiler/dsl/Trace.h"
#include "dialects/tile/Tile.h"

#pragma GCC visibility push(hidden) // not for those who link libtlc
namespace tlc::dsl::inline v1 {

/// The value of what is written; null, silently or with an error, if the program may not write it.
mlir::Value destinationOf(Trace &trace, const Handle &to, llvm::StringRef what, Loc loc);

inline bool hasPositions(const Slice &slice) { return !slice.positions().empty(); }
/// The elements that a slice's positions say; null with an error where those do not fit.
mlir::Value gathered(Trace &trace, const Slice &from, mlir::RankedTensorType type, Loc loc);
/// The positions of a slice, one for each element of such a fragment and each axis that has them; nothing,
/// with an error, where they do not fit.
std::optional<llvm::SmallVector<mlir::Value>> positionsFor(Trace &trace, const Slice &slice,
                                                           mlir::RankedTensorType fragment, Loc loc);
/// Writes the elements where their positions are, or combines those there with them.
void scatter(Trace &trace, mlir::Value value, mlir::Value destination, const Slice &to,
             std::optional<tile::CombineKind> kind, Loc loc);
/// A fragment of the tile's extents and elements.
mlir::RankedTensorType fragmentOf(mlir::Value tile);

} // namespace tlc::dsl::inline v1
#pragma GCC visibility pop
