// SPDX-License-Identifier: Apache-2.0
// Slices of shared tiles. Generated apart from the other operations: SharedSlice.h declares them for the few who use
// them.
#ifndef TLC_DIALECTS_TILE_OPSSHAREDSLICE_TD
#define TLC_DIALECTS_TILE_OPSSHAREDSLICE_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_SliceSharedOp : Tile_Op<"slice_shared", [Pure, AttrSizedOperandSegments, Tile_ViewOpInterface]> {
  let summary = "A guarded box of a shared tile";
  let description = [{
    As `tile.slice` of a tensor: `origin` is the box's first element, which may lie outside of the tile. Elements outside
    read as `fill` (0 without it) and are not written; a `limit` ends the tile along an axis, for this slice; `unchecked`
    says why the box is known to be inside. Along `gathered` axes each element has a position of its own, as in a tensor.

    The tile may be a slot or a view. Threads access it by ordinary loads, stores and atomic operations.

    Constraints
    - slice_shared_c1: one origin per axis; the slice has the tile's element type, and its rank unless gathered axes follow one another.
    - slice_shared_c2: `fill` has the element type.
    - slice_shared_c3: `limit` and `limited_axis` come together, and the axis is one of the tile's.
    - slice_shared_c4: gathered axes are axes of the tile, in ascending order, and the slice is used with positions only.
    - slice_shared_c5: the elements are whole bytes.
    - slice_shared_c6: the tile is no buffer with slots.
    - slice_shared_c7: only `tile.load`, `tile.store`, `tile.gather`, `tile.scatter`, `tile.atomic` and `tile.atomic_fetch` take
      the slice: the TMA moves whole tiles, and counts are in tensors.

        %s = tile.slice_shared %tile[%i, %j] : !tile.shared<64x128xf32> -> !tile.slice<16x32xf32>
        %t = tile.slice_shared %tile[%c0] gathered [0] : !tile.shared<256xi32> -> !tile.slice<1024xi32>
  }];
  let arguments = (ins Tile_SharedType:$tile, Variadic<Index>:$origin, Optional<Index>:$limit, Optional<AnyType>:$fill,
    OptionalAttr<I64Attr>:$limited_axis, Tile_GatheredAxes:$gathered_axes, OptionalAttr<StrAttr>:$unchecked);
  let results = (outs Tile_SliceType:$slice);
  let assemblyFormat = "$tile `[` $origin `]` (`limit` $limit^ `along` $limited_axis)? (`gathered` $gathered_axes^)? (`fill` $fill^ `:` type($fill))? (`unchecked` $unchecked^)? attr-dict `:` qualified(type($tile)) `->` qualified(type($slice))";
  let hasVerifier = 1;
}

#endif
