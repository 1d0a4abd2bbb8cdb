// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the threads of a team reach the elements of their fragments in memory.
///
/// A register's coordinates are a part that depends on the thread, the same for all its
/// registers, plus a constant that depends on the register. Every address is formed
/// that way: the thread's part once per access, the constants into the instructions.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"
#include "dialects/layout/AccumulatorOrder.h"

#include <map>

namespace tlc::lowering {

/// The thread's part of a coordinate: i32, one per axis.
llvm::SmallVector<Value> threadCoordinates(Emitter &b, const FragmentLayout &layout, const Team &team);

/// The digit of a lane or warp mode in this thread.
Value digitOf(Emitter &b, const PlacedMode &mode, const Team &team);

/// Whether this thread is the one of several holding the same elements that stores
/// them; null where there is only one.
Value isOwner(Emitter &b, const FragmentLayout &layout, const Team &team);

/// Registers of consecutive elements along an axis that one instruction moves.
struct RegisterGroup {
  Coordinates start; ///< constant part of the first element's coordinates
  llvm::SmallVector<int64_t> registers;
};

/// The registers in groups of `width` along `axis`; those that hold an element another
/// register of the thread holds, too, are apart: (replica, original).
struct RegisterGroups {
  std::vector<RegisterGroup> groups;
  std::vector<std::pair<int64_t, int64_t>> replicas;
};
RegisterGroups groupRegisters(const FragmentLayout &layout, int axis, int64_t width);
/// The same of vectors whose elements are so far from their first one; `begins` says which those are.
RegisterGroups groupRegisters(const FragmentLayout &layout, llvm::ArrayRef<Coordinates> vector,
                              llvm::function_ref<bool(const Coordinates &)> begins);

/// For each register of `layout` the register of `reduced`, a layout of the same tile with
/// extent 1 along `axes`, that holds what belongs to it.
llvm::SmallVector<int64_t> reducedRegisters(const FragmentLayout &layout, const FragmentLayout &reduced,
                                            llvm::ArrayRef<int> axes);

/// The layout with axes of extent 1 dropped and inserted so that it is one of a tile of
/// shape `to`. Nothing if registers lie along such an axis, where they are all padding but one.
std::optional<FragmentLayout> onAxesOf(const FragmentLayout &layout, llvm::ArrayRef<int64_t> from,
                                       llvm::ArrayRef<int64_t> to);

/// The same of a fragment of the shape `own` on a tile that it is loaded from or stored to; where there is
/// none, says so of the operation.
std::optional<FragmentLayout> layoutOnTile(Operation *op, const FragmentLayout &fragment,
                                           llvm::ArrayRef<int64_t> own, llvm::ArrayRef<int64_t> tile);

/// Whether coordinates that the layout covers are inside the tile; null where all are.
class InsidePredicates {
public:
  InsidePredicates(Emitter &b, const FragmentLayout &layout, llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<Value> thread);
  Value at(llvm::ArrayRef<int64_t> constant);

private:
  Emitter &b;
  llvm::SmallVector<int> padded; ///< axes
  Shape shape;
  llvm::SmallVector<Value> thread;
  std::map<std::pair<int, int64_t>, Value> cache;
};

/// The address of a shared tile's element at coordinates that the device computes.
Value addressIn(Emitter &b, const SharedTile &tile, llvm::ArrayRef<Value> coordinates);

/// Addresses of a shared tile's elements. Like the other accesses it keeps what it
/// emitted, so it serves one region.
class SharedAddresses {
public:
  /// `moving`: coordinates to add, where they are not constant.
  SharedAddresses(Emitter &b, const SharedTile &tile, const FragmentLayout &layout, const Team &team,
                  llvm::ArrayRef<Value> moving = {});
  /// The element at the thread's coordinates plus these.
  Value at(llvm::ArrayRef<int64_t> constant);

private:
  bool addMode(const PlacedMode &mode);
  Value fullAddress(llvm::ArrayRef<int64_t> constant);
  Value swizzled(Value offset);

  Emitter &b;
  const SharedTile &tile;
  FragmentLayout fragment;
  Team team;
  llvm::SmallVector<Value> moving;
  llvm::SmallVector<Value> thread; ///< coordinates, for layouts whose offset is not a sum
  Value threadOffset;              ///< before the swizzle; null if it is not a sum of parts
  Value threadSwizzled;            ///< and after it
  int64_t threadBits = 0;          ///< that the thread's offset can have
  bool disjoint = true;            ///< the modes' offsets share no bits
  int64_t mostInPanel = 0;         ///< of the thread's part along the contiguous axis
  std::map<int64_t, Value> bases;  ///< by what the swizzle makes of the constant's low bits
};

/// The widest vector, in elements, between these registers and this tile.
int64_t sharedVectorWidth(const KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout,
                          llvm::ArrayRef<int64_t> shape);

/// Reads the part of a shared tile that begins at `origin`, constant or not, and has the extents `shape`.
Value loadShared(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout,
                 llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> origin = {},
                 llvm::ArrayRef<Value> moving = {});
/// Writes a fragment; of replicas only the owner writes.
void storeShared(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout,
                 llvm::ArrayRef<int64_t> shape, Value value);

/// What is done to global memory.
enum class GlobalUse : uint8_t { load, store, combine };

/// Whether all elements of a vector along the axis have the same positions along the slice's gathered axes.
bool sharePositions(Operation *slice, int64_t axis);
/// What was loaded, and the fill value (null: 0, as it was loaded) where it is not inside (null: all is).
Value filledOutside(Emitter &b, Value loaded, Value inside, Value fill);

/// A vector that memory is combined with, and whether it is inside; no predicate: it is.
struct CombinedPiece {
  Value value, address, predicate;
};
/// Emits it for each of them, by the threads that own what they hold (null: all do).
void combinePieces(Emitter &b, Value owner, llvm::ArrayRef<CombinedPiece> pieces,
                   llvm::function_ref<void(const CombinedPiece &)> emit);
/// Of simt.atomic and simt.multicast_load. An order depends on whether the elements have a sign.
mlir::arith::AtomicRMWKind atomicKindOf(tile::CombineKind kind, Type element);

/// One side of a guarded transfer between registers and global memory.
class GlobalAccess {
public:
  /// `tileShape` is the fragment's or shared tile's shape, whose axes the slice's follow.
  GlobalAccess(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
               llvm::ArrayRef<int64_t> tileShape, GlobalUse use);

  /// Whether the tensor keeps its rows in order, rather than pieces in that of accumulators.
  bool hasRows() const { return pieces.empty(); }
  /// Whether it is known to begin at the first element of such a piece.
  bool beginsWithPiece() const;
  /// Widest vector of elements that lie side by side which alignment and divisibility permit.
  int64_t vectorWidth() const { return width; }
  /// The layout's registers in vectors of so many such elements: 1 or `vectorWidth()`.
  RegisterGroups groups(int64_t elements) const;
  /// Whether a vector may be partly outside the tensor.
  bool mayStraddle() const { return !parted.empty(); }
  /// Whether none is, of what may: the tensor ends at a multiple of the vector, or beyond the slice.
  Value hasWholeVectors();
  Value address(llvm::ArrayRef<int64_t> constant);
  /// Whether the element (and its vector) is inside the tensor and the tile; null: always.
  Value predicate(llvm::ArrayRef<int64_t> constant);
  /// Whether it is inside the tile and along the gathered axes.
  Value insideTile(llvm::ArrayRef<int64_t> constant) {
    return b.both(inside.at(constant), gatheredInside(constant));
  }
  /// With a kind, it loads all ranks' elements, combined.
  void reduceOverRanks(std::optional<mlir::arith::AtomicRMWKind> kind) { rankReduction = kind; }
  /// Loads a vector of so many elements; what is outside, or not for the threads that may load, is the
  /// slice's fill value.
  Value load(llvm::ArrayRef<int64_t> constant, int64_t elements, Value mayLoad = {});
  /// How many bytes of a vector of `elements` from there are inside the tensor, i32; null: always all.
  Value bytesInside(llvm::ArrayRef<int64_t> constant, int64_t elements);

private:
  /// Along one of the last two axes of a tensor in the order of accumulators.
  struct PieceAxis {
    const AccumulatorAxis *order;
    size_t axis; ///< of the slice
    bool isSum;  ///< the thread's part of a coordinate and a register's constant have places that add up
  };

  void chooseRowVectors(llvm::ArrayRef<int64_t> tileShape, int64_t widest);
  void choosePieceVectors(llvm::ArrayRef<int64_t> tileShape, int64_t widest, GlobalUse use);
  PieceAxis pieceAxis(const AccumulatorAxis &order, size_t axis) const;
  bool beginsAtMultiple(const PieceAxis &along) const;
  bool hasPieceVectors(llvm::ArrayRef<int64_t> tileShape, int64_t elements) const;
  std::vector<Coordinates> pieceVector(int64_t elements) const;
  bool beginsPieceVector(const Coordinates &at, int64_t elements) const;
  Value placeInPieces(const PieceAxis &along, Value coordinate);
  Value addressInPieces(llvm::ArrayRef<int64_t> constant);
  /// The address of an element so many further along the last axis.
  Value alongRow(Value element, int64_t count) {
    return b.element(element, slice.tensor->element, b.mul(slice.tensor->strides.back(), count));
  }
  int64_t constantAlong(size_t axis, llvm::ArrayRef<int64_t> constant) const {
    return axes[axis] < 0 ? 0 : constant[size_t(axes[axis])];
  }
  bool isKnownInside(size_t axis) const;
  /// Notes that the tensor may end within a vector of this extent along the axis, unless that is ruled out.
  void notePart(size_t axis, int64_t extent);
  /// A row of the slice of windows: its first element's address, and whether the taps are in the image.
  struct WindowRow {
    Value address, inside;
  };
  const WindowRow &windowRow(llvm::ArrayRef<int64_t> constant);
  std::vector<int64_t> outerSteps(llvm::ArrayRef<int64_t> constant) const;
  /// The position along gathered axis `number`, and whether all such positions are inside; null: they are.
  Value gatheredPosition(size_t number, llvm::ArrayRef<int64_t> constant);
  Value gatheredInside(llvm::ArrayRef<int64_t> constant);

  Emitter &b;
  const Slice &slice;
  Value policy;                                            ///< or null
  std::optional<mlir::arith::AtomicRMWKind> rankReduction; ///< how elements of all ranks are combined
  FragmentLayout layout;
  llvm::SmallVector<Value> ends; ///< the slice's; what is written may reach to the end of a piece
  llvm::SmallVector<int> axes;   ///< the tile's axis of each of the tensor's
  llvm::SmallVector<Value> thread, position;
  llvm::ArrayRef<int64_t> gathered;          ///< axes along which positions are the slice's indices
  std::map<Coordinates, int64_t> registerAt; ///< by what is constant of its coordinates, with gathered axes
  InsidePredicates inside;
  int inner = -1;
  int64_t width = 1;
  llvm::SmallVector<std::pair<size_t, int64_t>> parted; ///< axes along which a vector may, and its extent
  std::vector<PieceAxis> pieces; ///< rows and columns; none where the tensor has its natural order
  Value base;
  std::map<std::vector<int64_t>, Value> rows;
  std::map<std::vector<int64_t>, WindowRow> windowRows;
  std::map<std::pair<int, int64_t>, Value> guards;
};

/// With a kind, all ranks' elements, combined.
Value loadGlobal(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                 llvm::ArrayRef<int64_t> shape,
                 std::optional<mlir::arith::AtomicRMWKind> rankReduction = std::nullopt);
void storeGlobal(KernelLowering &k, const Slice &slice, const FragmentLayout &layout,
                 llvm::ArrayRef<int64_t> shape, Value value);
/// Combines the slice's elements with the fragment's, atomically.
void combineGlobal(KernelLowering &k, tile::CombineKind kind, const Slice &slice,
                   const FragmentLayout &layout, llvm::ArrayRef<int64_t> shape, Value value);

/// ldmatrix and stmatrix, where the fragment and the tile allow them: 8x8 matrices of
/// 16-bit elements, whose 16-byte rows are contiguous in this block's shared memory.
bool fitsMatrixMoves(const SharedTile &tile, const FragmentLayout &layout, llvm::ArrayRef<int64_t> shape);
Value loadMatrices(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout,
                   llvm::ArrayRef<int64_t> origin);
void storeMatrices(KernelLowering &k, const SharedTile &tile, const FragmentLayout &layout, Value value);
/// The same between two tiles of bytes that are contiguous along different axes.
bool fitsTransposingMoves(KernelLowering &k, const SharedTile &source, const SharedTile &destination);
void copyTransposed(KernelLowering &k, const SharedTile &source, const SharedTile &destination);

} // namespace tlc::lowering
