// SPDX-License-Identifier: Apache-2.0
// tcgen05: tensor memory, its way to and from registers, products that add there. An address is 32 bits: the lane
// in the upper half, the column in the lower one.
#ifndef TLC_DIALECTS_SIMT_OPSTENSORMEMORY_TD
#define TLC_DIALECTS_SIMT_OPSTENSORMEMORY_TD

include "dialects/simt/Dialect.td"
include "dialects/program/Program.td"

class Simt_Tcgen05Op<string mnemonic, list<Trait> traits = []>
    : Simt_EffectOp<"tcgen05_" # mnemonic, !listconcat([Program_Needs<"tcgen05">], traits)>;

def Simt_Tcgen05AllocOp : Simt_Tcgen05Op<"alloc"> {
  let summary = "A warp reserves columns of tensor memory; their address is written to shared memory";
  let description = [{
    Waits until they are free. The same warp gives up the right to reserve more, so that other blocks of the
    multiprocessor may.

    Constraints
    - tcgen05_alloc_c1: `columns` is a power of two, as many as the least reservation at least and as tensor memory has
      at most.
  }];
  let arguments = (ins Simt_SharedPtr:$destination, I64Attr:$columns);
  let assemblyFormat = "$columns `to` $destination attr-dict";
  let hasVerifier = 1;
}

def Simt_Tcgen05DeallocOp : Simt_Tcgen05Op<"dealloc"> {
  let summary = "A warp frees columns that were reserved at this address";
  let description = [{
    Constraints
    - tcgen05_dealloc_c1: as tcgen05_alloc_c1.
  }];
  let arguments = (ins I32:$address, I64Attr:$columns);
  let assemblyFormat = "$columns `at` $address attr-dict";
  let hasVerifier = 1;
}

def Simt_Tcgen05FenceOp : Simt_Tcgen05Op<"fence"> {
  let summary = "Orders this thread's tcgen05 operations before it meets others, or `after`, those that follow";
  let arguments = (ins UnitAttr:$after);
  let assemblyFormat = "(`after` $after^)? attr-dict";
}

def Simt_Tcgen05LoadOp : Simt_Tcgen05Op<"load"> {
  let summary = "tcgen05.ld: a warp starts to read tensor memory";
  let description = [{
    Warp w reaches the lanes from 32 (w mod 4) on. The instruction's shape is 32x32b: each lane reads consecutive columns of
    its lane; or 16x`row_bits`b: four lanes share a row of 16.

    Constraints
    - tcgen05_load_c1: the result has a power of two of registers, up to 128, from 1 on, of 16x128b from 2 on, of
      16x256b from 4 on.
    - tcgen05_load_c2: `row_bits` is 32, 128 or 256.
  }];
  let arguments = (ins I32:$address, DefaultValuedAttr<I64Attr, "32">:$row_bits);
  let results = (outs VectorOfRankAndType<[1], [I32]>:$result);
  let assemblyFormat = "$address attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Simt_Tcgen05StoreOp : Simt_Tcgen05Op<"store"> {
  let summary = "tcgen05.st: a warp starts to write tensor memory";
  let description = [{
    As `simt.tcgen05_load` reads it.

    Constraints
    - tcgen05_store_c1: as tcgen05_load_c1 and tcgen05_load_c2.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I32]>:$values, I32:$address, DefaultValuedAttr<I64Attr, "32">:$row_bits);
  let assemblyFormat = "$values `to` $address attr-dict `:` type($values)";
  let hasVerifier = 1;
}

def Simt_Tcgen05WaitLoadOp : Simt_Tcgen05Op<"wait_load", [AllTypesMatch<["values", "result"]>]> {
  let summary = "Waits until the thread has what it reads from tensor memory; the values pass through";
  let description = "Passing the values through keeps their readers after the wait.";
  let arguments = (ins VectorOfRankAndType<[1], [I32]>:$values);
  let results = (outs VectorOfRankAndType<[1], [I32]>:$result);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Simt_Tcgen05WaitStoreOp : Simt_Tcgen05Op<"wait_store"> {
  let summary = "Waits until tensor memory holds what the thread has written";
  let assemblyFormat = "attr-dict";
}

def Simt_Tcgen05DescriptorOp : Simt_Op<"tcgen05_descriptor", [Program_Needs<"tcgen05">, Pure]> {
  let summary = "tcgen05 descriptor of a tile in shared memory";
  let description = [{
    As `simt.matrix_descriptor`, in the format of tcgen05.
  }];
  let arguments = (ins Simt_SharedPtr:$address, I64Attr:$leading, I64Attr:$stride, Program_SwizzleAttr:$swizzle);
  let results = (outs I64:$descriptor);
  let assemblyFormat = "$address `leading` `(` $leading `)` `stride` `(` $stride `)` `swizzle` `` $swizzle attr-dict";
}

def Simt_Tcgen05MmaOp : Simt_Tcgen05Op<"mma"> {
  let summary = "tcgen05.mma: one thread starts a product of m x n and 32 bytes of k, which is added in tensor memory";
  let description = [{
    `a` is a descriptor or an address in tensor memory. Where `accumulate` is false, what the accumulator holds does
    not count.

    Constraints
    - tcgen05_mma_c1: `m` is 128 or 64; `n` is at most 256, a multiple of 16, or of 8 for 64 rows of floats.
    - tcgen05_mma_c2: `a_element` and `b_element` are both f16, bf16, f32 (read as tf32, not transposed), each f8E4M3FN or f8E5M2, or
      each i8 or ui8, whose sums are i32; `transpose_a` needs a descriptor.
  }];
  let arguments = (ins I32:$acc, AnyTypeOf<[I64, I32]>:$a, I64:$b, I1:$accumulate,
    I64Attr:$m, I64Attr:$n, TypeAttr:$a_element, TypeAttr:$b_element, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let assemblyFormat = "$acc `,` $a `,` $b `if` $accumulate attr-dict `:` type($a)";
  let hasVerifier = 1;
}

def Simt_Tcgen05CommitOp : Simt_Tcgen05Op<"commit"> {
  let summary = "tcgen05.commit: the barrier gets an arrival once all products that this thread has started are complete";
  let arguments = (ins Simt_SharedPtr:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

#endif
