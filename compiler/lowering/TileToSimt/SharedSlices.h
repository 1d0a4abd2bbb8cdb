// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments to and from slices of shared tiles: element by element where positions are computed, in vectors
/// where they are known to begin at multiples.
#pragma once

#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "dialects/tile/SharedSlice.h"

namespace tlc::lowering {

/// One side of a guarded transfer between registers and a shared tile. It serves one region.
class SharedSliceAccess {
public:
  /// Of atomic operations, as LLVM names it: other blocks do not reach the tile.
  static constexpr llvm::StringLiteral scope = "block";

  /// `indices`: what is added to the origin along each gathered axis, by register. `tileShape` is the
  /// fragment's, whose axes the slice's follow.
  SharedSliceAccess(KernelLowering &k, tile::SliceSharedOp slice, llvm::ArrayRef<Value> indices,
                    const FragmentLayout &layout, llvm::ArrayRef<int64_t> tileShape);

  /// Widest vector of elements that lie side by side, and are all inside or outside.
  int64_t vectorWidth() const { return width; }
  RegisterGroups groups(int64_t elements) const { return groupRegisters(layout, inner, elements); }
  Value address(llvm::ArrayRef<int64_t> constant);
  /// Whether the element (and its vector) is inside the shared tile and the fragment; null: always.
  Value predicate(llvm::ArrayRef<int64_t> constant);
  /// What elements outside read as; null: 0.
  Value fill() const { return slice.getFill() ? k.value(slice.getFill()) : Value(); }

private:
  void chooseVectors(llvm::ArrayRef<int64_t> tileShape);
  /// The coordinate in the shared tile.
  Value coordinate(size_t axis, llvm::ArrayRef<int64_t> constant);
  bool isGuarded(size_t axis) const;

  KernelLowering &k;
  Emitter &b;
  mutable tile::SliceSharedOp slice;
  const SharedTile &tile;
  FragmentLayout layout;
  llvm::SmallVector<Value> indices;
  llvm::ArrayRef<int64_t> gathered;          ///< axes of the tile
  int limited = -1;                          ///< axis of the tile, or -1
  llvm::SmallVector<int> axes;               ///< the fragment's axis of each of the tile's; -1: none
  llvm::SmallVector<Value> position;         ///< by axis: the thread's part of it
  llvm::SmallVector<Value> ends;             ///< elements from there on are outside
  llvm::SmallVector<bool> inTile;            ///< by axis: whether the box is known to be inside
  std::map<Coordinates, int64_t> registerAt; ///< with gathered axes
  InsidePredicates inside;
  int inner = -1; ///< the fragment's axis along which elements are adjacent
  int64_t width = 1;
  std::map<std::pair<size_t, int64_t>, Value> guards;
};

// Of slices of tensors and of shared tiles. `indices` are the positions of gathered axes.
Value loadSlice(KernelLowering &k, Value slice, llvm::ArrayRef<Value> indices, const FragmentLayout &layout,
                llvm::ArrayRef<int64_t> shape);
void storeSlice(KernelLowering &k, Value slice, llvm::ArrayRef<Value> indices, const FragmentLayout &layout,
                llvm::ArrayRef<int64_t> shape, Value value);
/// Combines the slice's elements with the fragment's, atomically.
void combineSlice(KernelLowering &k, tile::CombineKind kind, Value slice, llvm::ArrayRef<Value> indices,
                  const FragmentLayout &layout, llvm::ArrayRef<int64_t> shape, Value value);

} // namespace tlc::lowering
