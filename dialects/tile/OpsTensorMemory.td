// SPDX-License-Identifier: Apache-2.0
// Tensor memory: buffers, products that add there.
#ifndef TLC_DIALECTS_TILE_OPSTENSORMEMORY_TD
#define TLC_DIALECTS_TILE_OPSTENSORMEMORY_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_AllocTensorMemoryOp : Tile_Op<"alloc_tensor_memory", [Tile_AccessesNothing, Program_Needs<"tcgen05">,
    DeclareOpInterfaceMethods<Tile_AllocationOpInterface, ["getMemorySpace"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A buffer in the block's tensor memory";
  let description = [{
    Lives as long as the kernel. `offset` is where it begins, set by `tile-plan-tensor-memory`: its first column among those that the block
    reserves and, above 16 bits as in an address, the first of its lanes among the 32 that a warp reaches. 64 rows take half of the
    lanes, so that another such buffer may have the same columns. What it holds first is undefined.

    With `over` its columns are the first ones of another buffer of the kernel, which has that name: each is written when what the other one
    holds is no longer needed.

    Constraints
    - alloc_tensor_memory_c1: `offset` has a column from which on the buffer ends within tensor memory.
    - alloc_tensor_memory_c2: `offset` has lane 0, or of 64 rows 16.

        %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x256xf32>
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<StrAttr>:$over, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Tile_TensorMemoryType, "the buffer", [MemAlloc]>:$buffer);
  let assemblyFormat = "$name (`over` $over^)? (`at` custom<TensorPlace>($offset)^)? attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Tile_ColumnsOp : Tile_Op<"columns", [Pure, Tile_ViewOpInterface]> {
  let summary = "A view of some adjacent columns of a tile in tensor memory";
  let description = [{
    Elements `first`, `first` + 1, ... of each row.

    Constraints
    - columns_c1: one slot's columns, of the same element type; they end within the tile.
    - columns_c2: `first` is where a column of 32 bits begins.

        %half = tile.columns %acc from 64 : !tile.tensor_memory<128x128xf32> -> !tile.tensor_memory<128x64xf32>
  }];
  let arguments = (ins Tile_TensorMemoryType:$source, I64Attr:$first);
  let results = (outs Tile_TensorMemoryType:$view);
  let assemblyFormat = "$source `from` $first attr-dict `:` qualified(type($source)) `->` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_ReserveTensorMemoryOp : Tile_Op<"reserve_tensor_memory", [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesNothing,
    DeclareOpInterfaceMethods<Tile_AllocationOpInterface>, Program_Needs<"tcgen05">, HasParent<"KernelOp">]> {
  let summary = "Reserves columns of tensor memory for all of the block's buffers, until the kernel ends";
  let description = [{
    Made by `tile-plan-tensor-memory`, once for a kernel that has such buffers, before anything else. The first warp
    reserves the columns, waiting until other blocks of the multiprocessor have freed enough, and hands their address to
    the others through a word of shared memory at `offset`; at the end of the kernel it frees them.

    Constraints
    - reserve_tensor_memory_c1: `columns` is a power of two, as many as the least reservation at least and as tensor memory
      has at most.
    - reserve_tensor_memory_c2: `offset` is at least 0 and a multiple of 4.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$columns, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "$name `columns` `(` $columns `)` (`at` $offset^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_GemmInPlaceOp : Tile_Op<"gemm_in_place", [Tile_AccessesForOne, Tile_ProductOpInterface, Program_Needs<"tcgen05">,
    DeclareOpInterfaceMethods<Tile_InFlightOpInterface>]> {
  let summary = "Starts adding the product of two tiles to a tile in tensor memory";
  let description = [{
    One thread of the role issues it. The product is in flight until a `tile.publish`, `tile.release` or `tile.arrive` of the
    same role with `after_products` has arrived; until then `a` and `b` must not change and `acc` must not be read.
    Products of one role are made one after the other. Where `accumulate` is false, what `acc` holds does not count.

    Constraints
    - gemm_in_place_c1: as gemm_c1 and gemm_c2.

        tile.gemm_in_place %a, %b, %acc if %accumulate : !tile.shared<128x64xbf16>, !tile.shared<64x256xbf16>, !tile.tensor_memory<128x256xf32>
  }];
  let arguments = (ins
    Arg<Tile_Buffer, "left factor, M x K", [MemRead]>:$a,
    Arg<Tile_SharedType, "right factor, K x N", [MemRead]>:$b,
    Arg<Tile_TensorMemoryType, "accumulator, M x N", [MemRead, MemWrite]>:$acc,
    I1:$accumulate);
  let assemblyFormat = "$a `,` $b `,` $acc `if` $accumulate attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `,` qualified(type($acc))";
  let extraClassDeclaration = [{
    static WarpPolicy getPolicy() { return WarpPolicy::fullRow; }
    static ::std::optional<MatrixAtom> getAtom() { return MatrixAtom::tcgen05; }
  }];
  let hasVerifier = 1;
}

#endif
