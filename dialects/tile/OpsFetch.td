// SPDX-License-Identifier: Apache-2.0
// Atomic operations that return the old value. Generated apart from the other operations: Fetch.h declares them
// for the few who use them.
#ifndef TLC_DIALECTS_TILE_OPSFETCH_TD
#define TLC_DIALECTS_TILE_OPSFETCH_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_AtomicFetchOp : Tile_Op<"atomic_fetch", [AttrSizedOperandSegments, AllTypesMatch<["value", "old"]>, Tile_Accesses,
    Tile_StatesLayouts, DeclareOpInterfaceMethods<Tile_ScratchOpInterface, ["getScratchNeed", "getScratchWords"]>]> {
  let summary = "Changes elements of a slice atomically and returns their old values";
  let description = [{
    With a kind an element is combined with that of `value`, as by `tile.atomic`. Without one it becomes that of `value`; with
    `expected` it does so only if it is that of `expected`. Scopes are those of `tile.atomic`. With `indices` the elements are
    those of a gathered slice, as of `tile.scatter`; several at the same position are changed one after the other, in any order. An
    element outside of the tensor or tile does not change, and its old value is the slice's `fill`.

    A replicated fragment counts once. Threads that hold the same element get its old value through `scratch`: shared memory
    of the fragment's shape. With it all executing threads meet, as in `tile.sync`.

    Constraints
    - atomic_fetch_c1: as load_c1; with `indices`, as gather_c2.
    - atomic_fetch_c2: the element type is i32, u32 or i64, of `add`, and without a kind and `expected`, also f32 or f64.
    - atomic_fetch_c3: `expected` comes without a kind and has the extents and elements of `value`.

        %old = tile.atomic_fetch combine add %x, %slice : tensor<64xi32>, !tile.slice<64xi32>
  }];
  let arguments = (ins Tile_AnyFragment:$value, Arg<Tile_SliceType, "what is changed", [MemRead, MemWrite]>:$destination,
    Variadic<Tile_AnyFragment>:$indices, Optional<Tile_AnyFragment>:$expected, Optional<Tile_SharedType>:$scratch,
    OptionalAttr<Tile_CombineKind>:$kind);
  let results = (outs Tile_AnyFragment:$old);
  let assemblyFormat = "(`combine` `` $kind^)? $value `,` $destination (`[` $indices^ `:` type($indices) `]`)? (`if` $expected^ `:` type($expected))? (`scratch` $scratch^ `:` qualified(type($scratch)))? attr-dict `:` type($value) `,` qualified(type($destination))";
  let hasVerifier = 1;
}

#endif
