// SPDX-License-Identifier: Apache-2.0
// Ordinary loads and stores, guarded by a predicate.
#ifndef TLC_DIALECTS_SIMT_OPSMEMORY_TD
#define TLC_DIALECTS_SIMT_OPSMEMORY_TD

include "dialects/program/Interfaces.td"
include "dialects/program/Program.td"
include "dialects/simt/Dialect.td"

def Simt_Value : AnyTypeOf<[AnyFloat, AnySignlessInteger, AnyVectorOfNonZeroRank]>;

def Simt_CachePolicyOp : Simt_Op<"cache_policy", [Pure]> {
  let summary = "createpolicy.fractional of all lines: a hint for accesses to global memory by way of L2";
  let arguments = (ins Program_EvictionAttr:$eviction);
  let results = (outs I64:$policy);
  let assemblyFormat = "`evict` `` $eviction attr-dict";
}

def Simt_LoadOp : Simt_EffectOp<"load", [AttrSizedOperandSegments]> {
  let summary = "Loads a number or a vector of consecutive ones, or gives zeros where the predicate is false";
  let description = [{
    The address must be aligned to the whole value's size. Nothing is read where the predicate is false.

    Constraints
    - load_c1: a `policy`, of `simt.cache_policy`, only of global memory.
  }];
  let arguments = (ins Simt_AnyMemoryPtr:$address, Optional<I1>:$predicate, Optional<I64>:$policy);
  let results = (outs Simt_Value:$value);
  let assemblyFormat = "$address (`if` $predicate^)? (`policy` $policy^)? attr-dict `:` qualified(type($address)) `->` type($value)";
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def Simt_StoreOp : Simt_EffectOp<"store", [AttrSizedOperandSegments]> {
  let summary = "Stores a number or a vector of consecutive ones where the predicate is true";
  let description = [{
    The address must be aligned to the whole value's size.

    Constraints
    - store_c1: as load_c1.
  }];
  let arguments = (ins Simt_Value:$value, Simt_AnyMemoryPtr:$address, Optional<I1>:$predicate, Optional<I64>:$policy);
  let assemblyFormat = "$value `,` $address (`if` $predicate^)? (`policy` $policy^)? attr-dict `:` type($value) `,` qualified(type($address))";
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def Simt_AtomicOp : Simt_EffectOp<"atomic"> {
  let summary = "red.relaxed of a number or of consecutive ones";
  let description = [{
    In global memory at device scope (`.gpu`), or with `system` at system scope (`.sys`); in shared memory at the scope
    of the block (`.cta`). The address must be aligned to the whole value's size. Each number of a vector is combined on its own.

    Constraints
    - atomic_c1: a vector has no more numbers than one instruction of the target adds.
    - atomic_c2: the kind is `addf` of floats; `addi`, `mins`, `minu`, `maxs`, `maxu`, `andi`, `ori` or `xori` of integers.
    - atomic_c3: in shared memory one number, without `system`.
  }];
  let arguments = (ins AtomicRMWKindAttr:$kind, AnyTypeOf<[F32, F64, I32, I64, VectorOfLengthAndType<[2, 4], [F32]>]>:$value, AnyTypeOf<[Simt_SharedPtr, Simt_GlobalPtr]>:$address,
    UnitAttr:$system);
  let assemblyFormat = "$kind $value `,` $address (`system` $system^)? attr-dict `:` type($value) `,` qualified(type($address))";
  let extraClassDeclaration = [{
    bool isInSharedMemory() {
      return ::mlir::cast<::mlir::LLVM::LLVMPointerType>(getAddress().getType()).getAddressSpace() ==
             unsigned(::mlir::NVVM::NVVMMemorySpace::Shared);
    }
  }];
  let hasVerifier = 1;
}

def Simt_MulticastLoadOp : Simt_EffectOp<"multicast_load", [Program_Needs<"multimem">]> {
  let summary = "multimem.ld_reduce.weak: combines a number, or consecutive ones, of all ranks' memory";
  let description = [{
    The address is one that NVLink multicast gives to the memory of all ranks, and aligned to the whole value's size. Sums of f16 and bf16 are in f32,
    and rounded once (`.acc::f32`). Where the predicate is false nothing is read, and the result is 0. Source: PTX ISA, multimem.

    Constraints
    - multicast_load_c1: the kind is `addf` of floats, `maxnumf` or `minnumf` of those of 16 bits; of integers as `simt.atomic`'s.
  }];
  let arguments = (ins AtomicRMWKindAttr:$kind, Simt_GlobalPtr:$address, Optional<I1>:$predicate);
  let results = (outs AnyTypeOf<[F32, F64, I32, I64, VectorOfLengthAndType<[2, 4, 8], [F16, BF16]>,
    VectorOfLengthAndType<[2, 4], [F32]>]>:$value);
  let assemblyFormat = "$kind $address (`if` $predicate^)? attr-dict `:` qualified(type($address)) `->` type($value)";
  let hasVerifier = 1;
}

def Simt_MulticastStoreOp : Simt_EffectOp<"multicast_store", [Program_Needs<"multimem">]> {
  let summary = "multimem.st.weak: stores a number or consecutive ones to all ranks' memory where the predicate is true";
  let description = [{
    The address is as that of `simt.multicast_load`.

    Constraints
    - multicast_store_c1: the value has 4, 8 or 16 bytes.
  }];
  let arguments = (ins Simt_Value:$value, Simt_GlobalPtr:$address, Optional<I1>:$predicate);
  let assemblyFormat = "$value `,` $address (`if` $predicate^)? attr-dict `:` type($value) `,` qualified(type($address))";
  let hasVerifier = 1;
}

def Simt_MulticastAtomicOp : Simt_EffectOp<"multicast_atomic", [Program_Needs<"multimem">]> {
  let summary = "multimem.red.sys of a number or of consecutive ones with those of all ranks' memory";
  let description = [{
    Relaxed, or with `release`. The address is as that of `simt.multicast_load`.

    Constraints
    - multicast_atomic_c1: as atomic_c2.
  }];
  let arguments = (ins AtomicRMWKindAttr:$kind, AnyTypeOf<[F32, F64, I32, I64, VectorOfLengthAndType<[2, 4], [F32]>]>:$value, Simt_GlobalPtr:$address,
    UnitAttr:$release);
  let assemblyFormat = "$kind $value `,` $address (`release` $release^)? attr-dict `:` type($value) `,` qualified(type($address))";
  let hasVerifier = 1;
}

def Simt_AliasFenceOp : Simt_EffectOp<"alias_fence", [Program_Needs<"multimem">]> {
  let summary = "fence.proxy.alias: orders accesses by multicast addresses with those of the same memory by others";
  let description = "Of this thread, and of those that it knows of (PTX ISA, membar and fence; memory consistency model, proxies).";
  let assemblyFormat = "attr-dict";
}

def Simt_ReportOp : Simt_EffectOp<"report", [AttrSizedOperandSegments]> {
  let summary = "Adds a record to the program's report buffer, or counts it as lost where that is full";
  let description = [{
    The executing thread takes the next place of the buffer (atom.relaxed.gpu.global.add; PTX ISA, atom) and stores its own
    number, its block's, the position and the values there. The host reads them after the launch.

    Constraints
    - report_c1: as many positions as `site` has axes, and values of the types that it has.
  }];
  let arguments = (ins Program_ReportAttr:$site, Variadic<I32>:$position, Variadic<AnyTypeOf<[I32, I64, F32, F64]>>:$values);
  let assemblyFormat = "qualified($site) (`at` `[` $position^ `]`)? (`values` `(` $values^ `:` type($values) `)`)? attr-dict";
  let hasVerifier = 1;
}

def Simt_EndWaitsOp : Simt_EffectOp<"end_waits"> {
  let summary = "Says that a wait has lasted longer than its limit: so end the others of the program, until the launcher reads the reports";
  let description = "A relaxed store to the report buffer (st.relaxed.gpu). `simt.report` says which wait.";
  let assemblyFormat = "attr-dict";
}

def Simt_WaitsEndOp : Simt_EffectOp<"waits_end"> {
  let summary = "Whether some thread has executed `simt.end_waits` (ld.relaxed.gpu)";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Simt_VoteAnyOp : Simt_Op<"vote_any", [Pure]> {
  let summary = "Whether the value is true in some lane of the warp; all lanes take part";
  let arguments = (ins I1:$value);
  let results = (outs I1:$result);
  let assemblyFormat = "$value attr-dict";
}

def Simt_ShuffleXorOp : Simt_Op<"shuffle_xor", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "The value of the lane whose number differs in the bits of `mask`; all lanes of the warp take part";
  let arguments = (ins Simt_Value:$value, I64Attr:$mask);
  let results = (outs Simt_Value:$result);
  let assemblyFormat = "$value `mask` `(` $mask `)` attr-dict `:` type($value)";
}

#endif
