// SPDX-License-Identifier: Apache-2.0
// wgmma, mma.sync and their operands' way between shared memory and registers.
#ifndef TLC_DIALECTS_SIMT_OPSMATRIX_TD
#define TLC_DIALECTS_SIMT_OPSMATRIX_TD

include "dialects/simt/Dialect.td"
include "dialects/program/Program.td"

def Simt_MatrixDescriptorOp : Simt_Op<"matrix_descriptor", [Program_Needs<"wgmma">, Pure]> {
  let summary = "wgmma descriptor of a tile in shared memory";
  let description = [{
    `leading` and `stride` are the byte offsets of PTX ISA "matrix descriptor", `swizzle` the buffer's. Stepping along the
    tile adds (bytes / 16) to the value.
  }];
  let arguments = (ins Simt_SharedPtr:$address, I64Attr:$leading, I64Attr:$stride, Program_SwizzleAttr:$swizzle);
  let results = (outs I64:$descriptor);
  let assemblyFormat = "$address `leading` `(` $leading `)` `stride` `(` $stride `)` `swizzle` `` $swizzle attr-dict";
}

def Simt_WgmmaOp : Simt_EffectOp<"wgmma", [Program_Needs<"wgmma">, AllTypesMatch<["acc", "result"]>, AttrSizedOperandSegments]> {
  let summary = "wgmma.mma_async: a warpgroup starts acc + a * b of one step: m64nN, 32 bytes of k";
  let description = [{
    `acc` is the thread's N/2 registers. `a` is a descriptor or four registers of packed elements. With
    `zero` the accumulator's old value is ignored (a predicate: true means start from zero).

    With `metadata` it is wgmma.mma_async.sp: `a` has 32 bytes of each row's elements that are stored, of 64 bytes of k. Of 16 and
    32 bits the threads of which lane % 4 is 2 `selector` or the next have the metadata of 16 rows, of 8 bits all threads (PTX
    ISA, "Matrix fragments for warpgroup-level multiply-accumulate operation with sparse matrix A").

    Constraints
    - wgmma_c1: `n` is a multiple of 8 from 8 to 256, of 16 for integers; `acc` has n / 2 elements.
    - wgmma_c2: `a_element` and `b_element` are both f16, bf16 or f32 (as tf32), or each of them is f8E4M3FN or f8E5M2, and `acc`
      is of f32; or each of them is i8 or ui8 and `acc` of i32, which wraps around; `a` is i64 or vector<4xi32>; `transpose_a` needs a descriptor.
    - wgmma_c3: of 8 and of 32 bits neither factor is transposed.
    - wgmma_c4: with `metadata` `a` is a descriptor; `selector` is 0 or 1, and 0 without metadata or of 8 bits.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$acc, AnyTypeOf<[I64, VectorOfLengthAndType<[4], [I32]>]>:$a, I64:$b, Optional<I1>:$zero,
    Optional<I32>:$metadata, I64Attr:$n, TypeAttr:$a_element, TypeAttr:$b_element, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
    DefaultValuedAttr<I64Attr, "0">:$selector);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$acc `,` $a `,` $b (`zero` $zero^)? (`metadata` $metadata^)? attr-dict `:` type($acc) `,` type($a)";
  let hasVerifier = 1;
}

def Simt_WgmmaFenceOp : Simt_EffectOp<"wgmma_fence", [Program_Needs<"wgmma">]> {
  let summary = "Orders register writes before the wgmmas that follow; right before each batch, in the same basic block";
  let assemblyFormat = "attr-dict";
}

def Simt_WgmmaCommitOp : Simt_EffectOp<"wgmma_commit", [Program_Needs<"wgmma">]> {
  let summary = "Closes this warpgroup's group of started wgmmas";
  let assemblyFormat = "attr-dict";
}

def Simt_WgmmaWaitOp : Simt_EffectOp<"wgmma_wait", [Program_Needs<"wgmma">, AllTypesMatch<["values", "results"]>]> {
  let summary = "Waits until at most `pending` wgmma groups are in flight; the values pass through";
  let description = "Passing the accumulators through keeps their readers after the wait.";
  let arguments = (ins Variadic<AnyVectorOfNonZeroRank>:$values, I64Attr:$pending);
  let results = (outs Variadic<AnyVectorOfNonZeroRank>:$results);
  let assemblyFormat = "$pending (`for` $values^ `:` type($values))? attr-dict";
}

def Simt_MmaSyncOp : Simt_Op<"mma_sync", [Program_Needs<"mmaSync">, Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "mma.sync.m16n8: a warp adds one product, of 32 bytes of k, to four registers";
  let description = [{
    Constraints
    - mma_sync_c1: `a_element` and `b_element` are both f16, bf16 or f32 (as tf32) and `acc` of f32, or each of them is f8E4M3FN or
      f8E5M2 and `acc` of f32, or each of them is i8 or ui8 and `acc` of i32, which wraps around.
    - mma_sync_c2: the target multiplies these elements.
  }];
  let arguments = (ins VectorOfLengthAndType<[4], [F32, I32]>:$acc, VectorOfLengthAndType<[4], [I32]>:$a,
    VectorOfLengthAndType<[2], [I32]>:$b, TypeAttr:$a_element, TypeAttr:$b_element);
  let results = (outs VectorOfLengthAndType<[4], [F32, I32]>:$result);
  let assemblyFormat = "$acc `,` $a `,` $b attr-dict `:` type($acc) `,` type($a) `,` type($b)";
  let hasVerifier = 1;
}

def Simt_LdMatrixOp : Simt_EffectOp<"ldmatrix"> {
  let summary = "A warp loads `count` 8x8 matrices of 16-bit elements, one register each";
  let arguments = (ins Simt_SharedPtr:$address, UnitAttr:$transpose);
  let results = (outs VectorOfLengthAndType<[1, 2, 4], [I32]>:$result);
  let assemblyFormat = "$address (`transpose` $transpose^)? attr-dict `:` type($result)";
}

def Simt_StMatrixOp : Simt_EffectOp<"stmatrix", [Program_Needs<"stmatrix">]> {
  let summary = "A warp stores 8x8 matrices of 16-bit elements, one register each";
  let arguments = (ins VectorOfLengthAndType<[1, 2, 4], [I32]>:$values, Simt_SharedPtr:$address, UnitAttr:$transpose);
  let assemblyFormat = "$values `,` $address (`transpose` $transpose^)? attr-dict `:` type($values)";
}

#endif
