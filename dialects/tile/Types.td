// SPDX-License-Identifier: Apache-2.0
#ifndef TLC_DIALECTS_TILE_TYPES_TD
#define TLC_DIALECTS_TILE_TYPES_TD

include "dialects/tile/Attrs.td"

class Tile_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Tile_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

class Tile_ShapedType<string name, string typeMnemonic> : Tile_Type<name, typeMnemonic> {
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_GlobalType : Tile_ShapedType<"Global", "global"> {
  let summary = "A tensor in global memory, an argument of the kernel";
  let description = "`!tile.global<?x?xbf16>`: extents may be runtime values; strides always are, but for the innermost of a tensor that is not `strided`, which is 1.";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
}

def Tile_SliceType : Tile_ShapedType<"Slice", "slice"> {
  let summary = "A box of a global tensor or a shared tile, guarded at its edges";
  let description = "`!tile.slice<128x64xbf16>`: reads outside the tensor or tile give the slice's fill value, writes there are dropped.";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
}

def Tile_SharedType : Tile_ShapedType<"Shared", "shared"> {
  let summary = "A tile in the block's shared memory";
  let description = [{
    `!tile.shared<128x64xbf16>`. A buffer with slots has a leading axis for them. `transposed` marks a view
    whose last two axes are exchanged (`tile.transpose`): the layout is still that of the buffer, as is that of a view of
    some rows (`tile.rows`).

        !tile.shared<64x256xbf16, transposed>
        !tile.shared<128x64xbf16, #tile.shared_layout<"...">>
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
    "SharedLayoutAttr":$layout, "bool":$transposed);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType), [{
    return $_get($_ctxt, shape, elementType, SharedLayoutAttr(), false);
  }]>];
  let extraClassDeclaration = [{
    /// The same buffer or view with another layout.
    SharedType withLayout(SharedLayoutAttr layout) const;
    /// The view with the last two axes exchanged.
    SharedType transpose() const;
    /// One slot: without the leading axis.
    SharedType slot() const;
  }];
}

def Tile_TensorMemoryType : Tile_ShapedType<"TensorMemory", "tensor_memory"> {
  let summary = "A tile in the block's tensor memory, where tcgen05 adds up products";
  let description = [{
    `!tile.tensor_memory<128x256xf32>`: row r is in lane r, and the elements of a row fill consecutive columns of 32 bits,
    narrow ones several to a column. Of 64 rows, 16 each are in the first lanes of a quarter. A buffer with slots has a leading axis for them: `!tile.tensor_memory<2x128x128xf32>`.

    Constraints
    - tensor_memory_c1: two axes, or three with slots; as many rows as tensor memory has lanes, or half as many.
    - tensor_memory_c2: elements of 8, 16 or 32 bits whose rows fill whole columns, of all slots no more than there are.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let extraClassDeclaration = [{
    /// One slot: without the leading axis.
    TensorMemoryType slot() const;
    int64_t numSlots() const { return getShape().size() == 3 ? getShape().front() : 1; }
    /// Columns of 32 bits that one slot takes.
    int64_t slotColumns() const;
  }];
}

def Tile_VariableType : Tile_Type<"Variable", "variable"> {
  let summary = "A mutable slot of the traced program, gone after phase `promoted`";
  let parameters = (ins "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $valueType `>`";
}

def Tile_RingType : Tile_Type<"Ring", "ring"> {
  let summary = "A queue of slots between a producer role and consumer roles";
  let description = "Per slot an mbarrier `full` (the data is there) and an mbarrier `empty` (the slot may be refilled).";
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
  let genVerifyDecl = 1;
}

def Tile_ChannelType : Tile_Type<"Channel", "channel"> {
  let summary = "Slots that roles fill and hand over to other roles";
  let description = "What `tile-lower-channels` makes a ring of.";
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
  let genVerifyDecl = 1;
}

def Tile_CursorType : Tile_Type<"Cursor", "cursor"> {
  let summary = "A role's position in a ring, counted over the whole kernel";
  let genVerifyDecl = 1;
  let description = "Slot and phase follow from it: slot = count mod slots, phase = (count / slots) mod 2.";
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
}

def Tile_BarrierType : Tile_Type<"Barrier", "barrier"> {
  let summary = "An mbarrier of the block";
  let assemblyFormat = "";
}

def Tile_ResponseType : Tile_Type<"Response", "response"> {
  let summary = "A response of cluster launch control in shared memory, with the mbarrier at which it arrives";
  let assemblyFormat = "";
}

def Tile_AnyFragment : Type<CPred<"::tlc::tile::isFragment($_self)">, "fragment (tensor of static shape, fewer than 2^31 elements)",
    "::mlir::RankedTensorType">;
/// Of a slice: axes of what it is of, along which each element has a position of its own.
def Tile_GatheredAxes : DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">;
def Tile_FragmentOrScalar : AnyTypeOf<[Tile_AnyFragment, AnyFloat, AnyInteger, Index]>;
def Tile_FragmentOrNumber : AnyTypeOf<[Tile_AnyFragment, AnyFloat, AnyInteger]>;
def Tile_Buffer : AnyTypeOf<[Tile_SharedType, Tile_TensorMemoryType]>;
def Tile_Memory : AnyTypeOf<[Tile_SharedType, Tile_TensorMemoryType, Tile_SliceType]>;
def Tile_SharedOrSlice : AnyTypeOf<[Tile_SharedType, Tile_SliceType]>;
def Tile_SharedOrFragment : AnyTypeOf<[Tile_SharedType, Tile_AnyFragment]>;

#endif
