// SPDX-License-Identifier: Apache-2.0
// Buffers, views, copies.
#ifndef TLC_DIALECTS_TILE_OPSMEMORY_TD
#define TLC_DIALECTS_TILE_OPSMEMORY_TD

include "dialects/program/Program.td"
include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_AllocSharedOp : Tile_Op<"alloc_shared", [Tile_AccessesNothing, DeclareOpInterfaceMethods<Tile_AllocationOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A buffer in the block's shared memory";
  let description = [{
    Lives as long as the kernel. `offset` is its byte offset, set by `tile-plan-shared-memory`.

    Constraints
    - alloc_shared_c1: the type is not a view, transposed or of some rows.
    - alloc_shared_c2: `offset` is at least 0 and a multiple of what the layout is aligned to.

        %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
        %k = tile.alloc_shared "k" at 16384 : !tile.shared<4x128x64xbf16, #tile.shared_layout<"...">>
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Tile_SharedType, "the buffer", [MemAlloc]>:$buffer);
  let assemblyFormat = "$name (`at` $offset^)? attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Tile_SlotOp : Tile_Op<"slot", [Pure, DeclareOpInterfaceMethods<Tile_ViewOpInterface, ["getSlotCursor"]>]> {
  let summary = "The tile of a buffer that a cursor stands at";
  let description = [{
    Constraints
    - slot_c1: the buffer's leading extent is the cursor's number of slots; the result drops that axis.
  }];
  let arguments = (ins Tile_Buffer:$buffer, Tile_CursorType:$cursor);
  let results = (outs Tile_Buffer:$tile);
  let assemblyFormat = "$buffer `[` $cursor `]` attr-dict `:` qualified(type($buffer)) `,` qualified(type($cursor)) `->` qualified(type($tile))";
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure, Tile_ViewOpInterface]> {
  let summary = "A view of a shared tile with its last two axes exchanged";
  let description = [{
    Constraints
    - transpose_c1: the result has the last two extents exchanged, the same element type and layout, and the other `transposed` mark.
  }];
  let arguments = (ins Tile_SharedType:$source);
  let results = (outs Tile_SharedType:$view);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source)) `->` qualified(type($view))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_RowsOp : Tile_Op<"rows", [Pure, Tile_ViewOpInterface]> {
  let summary = "A view of some adjacent rows of a shared tile";
  let description = [{
    Rows `first`, `first` + 1, ..., of a transposed view columns. They lie where they lie in the tile, whose layout the view keeps.

    Constraints
    - rows_c1: source and result have two axes, the same last extent, element type and layout, and are both transposed or not.
    - rows_c2: `first` is a multiple of 8, after which every swizzle repeats, and the rows are rows of the source.
    - rows_c3: of a transposed source `first` and the source's rows are whole panels, of 128 bytes, and the result's rows a multiple of 16 bytes.

        %part = tile.rows %tile[16] : !tile.shared<64x128xbf16> -> !tile.shared<16x128xbf16>
  }];
  let arguments = (ins Tile_SharedType:$source, I64Attr:$first);
  let results = (outs Tile_SharedType:$view);
  let assemblyFormat = "$source `[` $first `]` attr-dict `:` qualified(type($source)) `->` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_MemberOp : Tile_Op<"member", [Pure, AttrSizedOperandSegments]> {
  let summary = "A tensor whose address a table holds";
  let description = [{
    The tensor at address `number` of the table, with `extents` and outer `strides` in elements that the device knows;
    the innermost stride is 1. A number outside the table gives a tensor without memory. Accesses of it, addresses of no
    tensor and extents that the tensor does not have are mistakes that nothing looks for but the emulator. Two members
    may be one tensor, but no other argument, or member of another one, that the kernel writes.

    Constraints
    - member_c1: `addresses` is an argument of the kernel with `members`.
    - member_c2: the tensor has the element type and the axes that `members` says.
    - member_c3: one extent for each `?` of the tensor, and a stride for each axis but the last.

        %b = tile.member %B[%g] extents(%n, %k) strides(%ld) : !tile.global<?xi64> -> !tile.global<?x?xbf16>
  }];
  let arguments = (ins Tile_GlobalType:$addresses, Index:$number, Variadic<Index>:$extents, Variadic<Index>:$strides);
  let results = (outs Tile_GlobalType:$tensor);
  let assemblyFormat = "$addresses `[` $number `]` `extents` `(` $extents `)` `strides` `(` $strides `)` attr-dict `:` qualified(type($addresses)) `->` qualified(type($tensor))";
  let extraClassDeclaration = [{
    /// What is known of the tensor, as of an argument; no dimension of the program is an extent of it.
    ::tlc::program::TensorAttr getFacts();
  }];
  let hasVerifier = 1;
}

def Tile_WindowsOp : Tile_Op<"windows", [Pure]> {
  let summary = "A tensor of images as the columns that a window sees (im2col)";
  let description = [{
    The source has axes of images, of one or more inner axes, and of channels, as [images, height, width, channels]. Row p
    of the result is the window's position p, in row-major order through the positions of each image and the images;
    the inner axes are the window's taps, and the last one is the source's. An element that a tap beyond an image would see
    is outside, as if it were beyond the tensor. There are as many positions as `TensorWindow::count` says; extents that leave no
    room for the window have none.

    Nothing is moved: slices of the result read the source. Their first position, if it is negative, is outside
    together with all others.

    Constraints
    - windows_c1: the source is an argument of the kernel, neither symmetric nor a table of addresses, in its natural
      order.
    - windows_c2: the source has as many axes between the first and the last as the window.
    - windows_c3: the result has the source's element type and last extent, an open number of positions, and the
      window's taps.

        %w = tile.windows %X <taps [3, 3], strides [1, 1], dilations [1, 1], before [1, 1], after [1, 1]>
          : !tile.global<?x?x?x64xbf16> -> !tile.global<?x3x3x64xbf16>
        %t = tile.slice %w[%p, %r, %s, %c0] : !tile.global<?x3x3x64xbf16> -> !tile.slice<128x1x1x64xbf16>
  }];
  let arguments = (ins Tile_GlobalType:$source, Program_WindowAttr:$window);
  let results = (outs Tile_GlobalType:$tensor);
  let assemblyFormat = "$source $window attr-dict `:` qualified(type($source)) `->` qualified(type($tensor))";
  let extraClassDeclaration = [{
    /// What is known of the source.
    ::tlc::program::TensorAttr getFacts();
  }];
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<Program_UnitOpInterface>]> {
  let summary = "A guarded box of a global tensor";
  let description = [{
    `origin` is the box's first element, per axis, in elements; it may lie outside the tensor. Elements outside
    read as `fill` (0 without it) and are not written. `unchecked` says why the box is known to be inside, `disjoint`
    why the block accesses none of its elements other than through this slice, once.

    With a `limit` the tensor ends there along the axis `limited_axis`, for this slice: elements from it on are
    outside, whatever `unchecked` says. A limit beyond the tensor's extent means the extent, a negative one means 0.
    A slice whose origin along that axis is negative is outside altogether: the TMA tells one end of a run of rows from
    another, not both.

    `evict` says when L2 gives up what the accesses through the slice touch. No result depends on it.

    Of a symmetric tensor every rank has its own: `of` says whose it is. A rank that there is not has no tensor. `of_all` is
    the box of all ranks' tensors at once, by NVLink multicast (PTX ISA, multimem): a store writes it on all ranks, an atomic operation combines
    with each rank's elements, and a load gives all ranks' elements, combined.

    Along each of the `gathered` axes the position of an element is the origin plus the number that `tile.gather`, `tile.scatter` or
    `tile.atomic_fetch` has for it and that axis. Along the other axes the slice is a box, and each of them is an axis of the slice. Gathered
    axes that follow one another may be any number of axes of the slice, between those of the axes before and after them.

    Constraints
    - slice_c1: one origin per axis; the slice has the tensor's element type, and its rank unless gathered axes follow one another.
    - slice_c2: `fill` has the element type.
    - slice_c3: `tensor` is an argument of the kernel without `members`, a `tile.member` or `tile.windows`.
    - slice_c4: `limit` and `limited_axis` come together, and the axis is one of the tensor's.
    - slice_c5: gathered axes are axes of the tensor, in ascending order, and the tensor has its natural order and elements of whole bytes.
    - slice_c6: a slice with gathered axes is used by `tile.gather`, `tile.scatter` and `tile.atomic_fetch` only.
    - slice_c7: `of` a rank or `of_all` if the tensor is symmetric, and only then; not both.
    - slice_c8: a slice of `tile.windows` has no gathered axes, and copies and loads read it.
    - slice_c9: a slice `of_all` is used by `tile.load` with a kind, by `tile.store` without staging, by `tile.atomic` and by `tile.announce`
      only, its elements have 16, 32 or 64 bits, and it has no `evict`.

        %t = tile.slice %A[%i, %j] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
        %u = tile.slice %A[%i, %j] limit %end along 0 : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
        %v = tile.slice %A[%c0, %j] gathered [0] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
        %z = tile.slice %A[%c0, %c0] gathered [0, 1] : !tile.global<?x?xbf16> -> !tile.slice<1024xbf16>
        %x = tile.slice %A[%i, %j] evict first : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
        %w = tile.slice %A of %rank[%i, %j] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
        %y = tile.slice %A of_all[%i, %j] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
  }];
  let arguments = (ins Tile_GlobalType:$tensor, Optional<Index>:$rank, UnitAttr:$of_all, Variadic<Index>:$origin, Optional<Index>:$limit, Optional<AnyType>:$fill,
    OptionalAttr<I64Attr>:$limited_axis, Tile_GatheredAxes:$gathered_axes, OptionalAttr<StrAttr>:$unchecked,
    OptionalAttr<StrAttr>:$disjoint, OptionalAttr<Program_EvictionAttr>:$eviction);
  let results = (outs Tile_SliceType:$slice);
  let extraClassDeclaration = [{
    /// What is known of the tensor.
    ::tlc::program::TensorAttr getTensorFacts();
    /// The order in which it keeps its elements.
    ::tlc::program::TensorOrder getTensorOrder() { return getTensorFacts().getOrder(); }
    /// Whether it is of a tensor of which every rank has its own.
    bool isSymmetric() { return getRank() || getOfAll(); }
  }];
  let assemblyFormat = "$tensor (`of` $rank^)? (`of_all` $of_all^)? `[` $origin `]` (`limit` $limit^ `along` $limited_axis)? (`gathered` $gathered_axes^)? (`fill` $fill^ `:` type($fill))? (`unchecked` $unchecked^)? (`disjoint` $disjoint^)? (`evict` `` $eviction^)? attr-dict `:` qualified(type($tensor)) `->` qualified(type($slice))";
  let hasVerifier = 1;
}

/// Made of ordinary accesses or of the TMA: `what` is the word for it in messages.
class Tile_HasCopyAtom<string what> {
  code declarations = "static ::llvm::StringRef getAtomUse() { return \"" # what # "\"; }";
}

def Tile_CopyOp : Tile_Op<"copy", [Tile_AccessesForOne, Tile_AtomOpInterface,
    DeclareOpInterfaceMethods<Tile_InFlightOpInterface>, DeclareOpInterfaceMethods<Tile_SynchronisationOpInterface>,
    DeclareOpInterfaceMethods<Program_UnitOpInterface>]> {
  let summary = "Copies a tile: global to shared, shared to global, shared to shared";
  let description = [{
    Synchronous: when it is done all executing threads see the result. Inside a loop marked `tile.pipeline` the
    compiler may make it asynchronous, with the same meaning. One side may be a transposed view: of elements of 8 bits
    that is what makes a factor K-major that lies MN-major in global memory. With the atom `cp_async` it is in flight until
    a `tile.await_copies` completes the group that the next `tile.commit_copies` closes. With `until_read`, set by
    `tile-relax-copies`, a store by the TMA is done as soon as its source has been read: that may be written again, and
    nothing in the kernel accesses the destination, which is written at the latest when the kernel ends.

    Constraints
    - copy_c1: source and destination have the same extents, once extents of 1 are dropped, and the same element type.
    - copy_c2: not global to global.
    - copy_c3: with the atom `tma` one side is global.
    - copy_c4: the atom `cp_async` copies from global to shared.
    - copy_c5: `until_read` only of copies to a slice with the atom `tma`.
    - copy_c6: where several elements share a byte, both sides have the same ones side by side.
  }];
  let arguments = (ins Arg<Tile_SharedOrSlice, "what is read", [MemRead]>:$source,
    Arg<Tile_SharedOrSlice, "what is written", [MemWrite]>:$destination, OptionalAttr<Tile_CopyAtom>:$atom,
    UnitAttr:$until_read);
  let assemblyFormat = "$source `,` $destination (`atom` `` $atom^)? (`until_read` $until_read^)? attr-dict `:` qualified(type($source)) `,` qualified(type($destination))";
  let extraClassDeclaration = Tile_HasCopyAtom<"copy">.declarations # [{
    /// Whether it is a store to a tensor by the TMA.
    bool storesByEngine();
  }];
  let hasVerifier = 1;
}

def Tile_CopyAsyncOp : Tile_Op<"copy_async", [Tile_AccessesForOne, Program_Needs<"tma">,
    DeclareOpInterfaceMethods<Tile_InFlightOpInterface, ["getCompletingRing"]>,
    TypesMatchWith<"cursor and ring have the same number of slots", "ring", "cursor",
      "CursorType::get($_self.getContext(), ::llvm::cast<RingType>($_self).getSlots())">]> {
  let summary = "Starts a TMA load of a slice into shared memory";
  let description = [{
    One thread of the role issues it. The bytes count towards the ring's `full` barrier at the cursor (see
    `tile.expect`); the data may be read after `tile.await`. With `multicast` every block of the cluster
    loads its share of the tile's rows and all of them receive all of it.

    Constraints
    - copy_async_c1: as copy_c1.
    - copy_async_c2: `multicast` only where the kernel's `cluster` is more than 1.
    - copy_async_c3: as copy_c6.
  }];
  let arguments = (ins Arg<Tile_SliceType, "what is read", [MemRead]>:$source,
    Arg<Tile_SharedType, "what is written", [MemWrite]>:$destination,
    Tile_RingType:$ring, Tile_CursorType:$cursor, UnitAttr:$multicast);
  let assemblyFormat = "$source `,` $destination `,` $ring `[` $cursor `]` (`multicast` $multicast^)? attr-dict `:` qualified(type($source)) `,` qualified(type($destination)) `,` qualified(type($ring))";
  let hasVerifier = 1;
}

def Tile_CopyReduceOp : Tile_Op<"copy_reduce", [Tile_AccessesForOne, Program_Needs<"tma">,
    DeclareOpInterfaceMethods<Tile_SynchronisationOpInterface>]> {
  let summary = "Combines a shared tile with a slice, element by element, by the TMA";
  let description = [{
    Each element of the slice is combined with the tile's as `kind` says, atomically: relaxed, at device scope. Order is not fixed: sums may differ in the last bits. Sums of f16 and bf16 are rounded each time.
    Elements outside of the tensor are left alone. Synchronous, as a store by the TMA is, with `until_read` as of
    `tile.copy`. One thread issues it; source: PTX ISA, cp.reduce.async.bulk.tensor.

    Constraints
    - copy_reduce_c1: as copy_c1.
    - copy_reduce_c2: the element type is f32, f16, bf16 or i32, of `min` and `max` not f32, of bits only i32: the TMA combines no
      others.
    - copy_reduce_c3: the tile is not transposed.
    - copy_reduce_c4: the slice is of no symmetric tensor: the scope does not reach other devices.

        tile.copy_reduce add %tile, %slice : !tile.shared<64x128xf32>, !tile.slice<64x128xf32>
  }];
  let arguments = (ins Tile_CombineKind:$kind, Arg<Tile_SharedType, "what is read", [MemRead]>:$source,
    Arg<Tile_SliceType, "what is combined with it", [MemRead, MemWrite]>:$destination, UnitAttr:$until_read);
  let assemblyFormat = "$kind $source `,` $destination (`until_read` $until_read^)? attr-dict `:` qualified(type($source)) `,` qualified(type($destination))";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [Tile_Accesses, Tile_StatesLayouts]> {
  let summary = "Reads a slice, or a tile in shared or tensor memory, into a fragment";
  let description = [{
    Of tensor memory each warp of a warpgroup reads the lanes that it can reach, a quarter of them. Of a slice `of_all` the elements of all
    ranks are combined as `kind` says: sums of f16 and bf16 are rounded once, and their order is not fixed (multimem.ld_reduce).

    Constraints
    - load_c1: source and result have the same extents, once extents of 1 are dropped, and the same element type.
    - load_c2: of tensor memory, source and result have the same axes.
    - load_c3: a kind if the source is a slice `of_all`, and only then.
    - load_c4: with a kind, the element type is i32, u32 or i64, of `add` also f32, f64, f16 or bf16, of `min` and `max` also f16 or bf16: multimem combines no others.

        %sum = tile.load combine add %slice : !tile.slice<64xbf16> -> tensor<64xbf16>
  }];
  let arguments = (ins Arg<Tile_Memory, "what is read", [MemRead]>:$source, OptionalAttr<Tile_CombineKind>:$kind);
  let results = (outs Tile_AnyFragment:$value);
  let builders = [OpBuilder<(ins "::mlir::Type":$value, "::mlir::Value":$source), [{
    build($_builder, $_state, value, source, CombineKindAttr());
  }]>];
  let assemblyFormat = "(`combine` `` $kind^)? $source attr-dict `:` qualified(type($source)) `->` type($value)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [Tile_AtomOpInterface, Tile_StatesLayouts,
    DeclareOpInterfaceMethods<Tile_AccessOpInterface, ["getMemoryAccesses", "getStagingMemory"]>,
    DeclareOpInterfaceMethods<Tile_InFlightOpInterface>, DeclareOpInterfaceMethods<Program_UnitOpInterface>]> {
  let summary = "Writes a fragment to a slice, or to a tile in shared or tensor memory";
  let description = [{
    With `staging` the fragment, an accumulator of wgmma, goes through it: shared memory of the executing warpgroups, panels
    of 64 rows each. With `atom tma` the TMA writes from there; the write is complete after `tile.await_stores`, which follows
    on every way to the end of the role or kernel. With `atom simt` the threads of a warpgroup write row by row, adjacent
    lanes adjacent elements, as rows of any alignment are written fastest. `staging` may be used again by the next such store.

    Constraints
    - store_c1: as load_c1.
    - store_c2: with `staging` the destination is a slice; it is there if the atom is `tma`.
    - store_c3: to tensor memory, the fragment and the destination have the same axes.
  }];
  let arguments = (ins Tile_AnyFragment:$value, Arg<Tile_Memory, "what is written", [MemWrite]>:$destination,
    Optional<Tile_SharedType>:$staging, OptionalAttr<Tile_CopyAtom>:$atom);
  let assemblyFormat = "$value `,` $destination (`staging` $staging^ `:` qualified(type($staging)))? (`atom` `` $atom^)? attr-dict `:` type($value) `,` qualified(type($destination))";
  let extraClassDeclaration = Tile_HasCopyAtom<"store">.declarations;
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [Tile_Accesses, Tile_StatesLayouts]> {
  let summary = "Reads elements of a slice whose positions along some axes are elements of fragments";
  let description = [{
    `indices` has a fragment for each gathered axis of the slice, in their order. Each thread reads its elements, in vectors along the last
    axis where that is not gathered. Elements outside of the tensor or tile read as the slice's `fill`.

    Constraints
    - gather_c1: as load_c1.
    - gather_c2: the slice has gathered axes, and for each of them there is an index for each element of the fragment.

        %x = tile.gather %slice[%rows] : !tile.slice<64x128xbf16>, tensor<64x128xindex> -> tensor<64x128xbf16>
        %y = tile.gather %elements[%i, %j] : !tile.slice<1024xbf16>, tensor<1024xindex>, tensor<1024xindex> -> tensor<1024xbf16>
  }];
  let arguments = (ins Arg<Tile_SliceType, "what is read", [MemRead]>:$source, Variadic<Tile_AnyFragment>:$indices);
  let results = (outs Tile_AnyFragment:$value);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` qualified(type($source)) `,` type($indices) `->` type($value)";
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [Tile_Accesses, Tile_StatesLayouts]> {
  let summary = "Writes a fragment to elements of a slice whose positions along some axes are elements of others";
  let description = [{
    `indices` is as of `tile.gather`. With a kind it combines, as `tile.atomic` does. Otherwise no two elements may have the same position. Elements outside of the
    tensor or tile are not written.

    Constraints
    - scatter_c1: as gather_c1 and gather_c2.
    - scatter_c2: with a kind, as atomic_c2.
  }];
  let arguments = (ins Tile_AnyFragment:$value, Arg<Tile_SliceType, "what is written", [MemRead, MemWrite]>:$destination,
    Variadic<Tile_AnyFragment>:$indices, OptionalAttr<Tile_CombineKind>:$kind);
  let assemblyFormat = "(`combine` `` $kind^)? $value `,` $destination `[` $indices `]` attr-dict `:` type($value) `,` qualified(type($destination)) `,` type($indices)";
  let hasVerifier = 1;
}

def Tile_LoadIndexOp : Tile_Op<"load_index", [Tile_AccessesForOne, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Reads one element of a shared tile or of a tensor as a position or count";
  let description = [{
    All executing threads read it. Of a tensor it is the only element of a slice. An input or a workspace that the
    kernel does not write holds the same for whoever reads it and whenever, so that reading it is no effect.

    Constraints
    - load_index_c1: a tile of i32 and one position per axis, or a slice of one i32 and no positions.

        %row = tile.load_index %tile[%c0] : !tile.shared<4xi32>
        %length = tile.load_index %slice[] : !tile.slice<1xi32>
  }];
  let arguments = (ins Tile_SharedOrSlice:$source, Variadic<Index>:$position);
  let results = (outs Index:$value);
  let assemblyFormat = "$source `[` $position `]` attr-dict `:` qualified(type($source))";
  let hasVerifier = 1;
}

def Tile_StoreIndexOp : Tile_Op<"store_index", [Tile_AccessesForOne]> {
  let summary = "Writes a position or count to one element of a shared tile";
  let description = [{
    One thread writes it.

    Constraints
    - store_index_c1: a tile of i32 and one position per axis.
  }];
  let arguments = (ins Index:$value, Arg<Tile_SharedType, "what is written", [MemWrite]>:$destination, Variadic<Index>:$position);
  let assemblyFormat = "$value `,` $destination `[` $position `]` attr-dict `:` qualified(type($destination))";
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_Op<"atomic", [Tile_Accesses, Tile_FragmentOpInterface]> {
  let summary = "Combines a fragment or a number with a slice, element by element, atomically";
  let description = [{
    Relaxed, at device scope, at system scope of a symmetric tensor, at block scope of a shared tile. Of a slice `of_all` it combines with each rank's
    elements, one rank after the other (multimem.red). A replicated fragment counts once. Order is not fixed: sums may differ in the last bits.

    Constraints
    - atomic_c1: as load_c1; a scalar needs a slice of one element.
    - atomic_c2: the element type is i32, u32 or i64, of `add` also f32 or f64 (16-bit floats lose what the sum needs).

        tile.atomic bit_or %flags, %slice : tensor<64xi32>, !tile.slice<64xi32>
  }];
  let arguments = (ins Tile_CombineKind:$kind, Tile_FragmentOrScalar:$value,
    Arg<Tile_SliceType, "what is combined with it", [MemRead, MemWrite]>:$destination);
  let assemblyFormat = "`` $kind $value `,` $destination attr-dict `:` type($value) `,` qualified(type($destination))";
  let hasVerifier = 1;
}

#endif
