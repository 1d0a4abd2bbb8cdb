// SPDX-License-Identifier: Apache-2.0
// mbarriers, the tensor memory accelerator, proxy fences.
#ifndef TLC_DIALECTS_SIMT_OPSASYNC_TD
#define TLC_DIALECTS_SIMT_OPSASYNC_TD

include "dialects/simt/Dialect.td"

def Simt_BarrierInitOp : Simt_EffectOp<"barrier_init", [Program_Needs<"mbarrier">]> {
  let summary = "mbarrier.init: one thread makes a barrier of `count` arrivals per phase";
  let arguments = (ins Simt_SharedPtr:$barrier, I64Attr:$count);
  let assemblyFormat = "$barrier `count` `(` $count `)` attr-dict";
}

def Simt_BarrierInitFenceOp : Simt_EffectOp<"barrier_init_fence", [Program_Needs<"mbarrier">]> {
  let summary = "Makes barrier initialisations visible to the cluster and the asynchronous proxy";
  let assemblyFormat = "attr-dict";
}

def Simt_BarrierArriveOp : Simt_EffectOp<"barrier_arrive", [Program_Needs<"mbarrier">]> {
  let summary = "mbarrier.arrive by this thread, on this block's barrier or on that of block `rank` of the cluster";
  let arguments = (ins Simt_SharedPtr:$barrier, Optional<I32>:$rank);
  let assemblyFormat = "$barrier (`rank` $rank^)? attr-dict";
}

def Simt_BarrierArriveAfterCopiesOp : Simt_EffectOp<"barrier_arrive_after_copies", [Program_Needs<"cpAsync">]> {
  let summary = "cp.async.mbarrier.arrive.noinc: this thread arrives once the copies that it has started are complete";
  let description = "It does not wait for that. The arrival is one of those that the barrier was made for.";
  let arguments = (ins Simt_SharedPtr:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def Simt_BarrierExpectOp : Simt_EffectOp<"barrier_expect", [Program_Needs<"mbarrier">]> {
  let summary = "mbarrier.arrive.expect_tx: arrives and announces bytes";
  let arguments = (ins Simt_SharedPtr:$barrier, I64Attr:$bytes);
  let assemblyFormat = "$barrier `bytes` `(` $bytes `)` attr-dict";
}

def Simt_BarrierWaitOp : Simt_EffectOp<"barrier_wait", [Program_Needs<"mbarrier">]> {
  let summary = "Waits for the phase of the given parity (0 or 1) to complete";
  let description = "A loop of mbarrier.try_wait.parity.";
  let arguments = (ins Simt_SharedPtr:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `parity` `(` $parity `)` attr-dict";
}

def Simt_BarrierTryWaitOp : Simt_EffectOp<"barrier_try_wait", [Program_Needs<"mbarrier">]> {
  let summary = "mbarrier.try_wait: true once the phase is complete, false if it is not after a while";
  let description = [{
    `phase` is the phase's parity, 0 or 1, as an i32, with acquire at the scope of the block; or its state, of
    `simt.barrier_state`, with acquire at the scope of the cluster.
  }];
  let arguments = (ins Simt_SharedPtr:$barrier, AnyTypeOf<[I32, I64]>:$phase);
  let results = (outs I1:$complete);
  let assemblyFormat = "$barrier `phase` `(` $phase `)` attr-dict `:` type($phase)";
}

def Simt_TmaLoadOp : Simt_EffectOp<"tma_load", [Program_Needs<"tma">, AttrSizedOperandSegments]> {
  let summary = "One thread starts a load of a box into shared memory; its bytes count on `barrier`";
  let description = [{
    `coordinates` are innermost first, as the instruction wants them. With `multicast` (a mask of blocks of the cluster) the box
    goes to the same shared offset of each, and counts on each one's barrier. A `policy` is one of `simt.cache_policy`.
    The map of a window is in im2col mode: coordinates are of the first tap, and `offsets` lead from there to the tap
    that is loaded.

    Constraints
    - tma_load_c1: `offsets` for all coordinates but the first and the last, of which there are 3 to 5, or none.
  }];
  let arguments = (ins Simt_GenericPtr:$map, Variadic<I32>:$coordinates, Variadic<I16>:$offsets, Simt_SharedPtr:$destination,
    Simt_SharedPtr:$barrier, Optional<I16>:$multicast, Optional<I64>:$policy);
  let assemblyFormat = "$map `[` $coordinates `]` (`offsets` `[` $offsets^ `]`)? `to` $destination `on` $barrier (`multicast` $multicast^)? (`policy` $policy^)? attr-dict";
  let hasVerifier = 1;
}

def Simt_TmaStoreOp : Simt_EffectOp<"tma_store", [Program_Needs<"tma">, AttrSizedOperandSegments]> {
  let summary = "One thread starts a store of a box from shared memory; completes with its bulk group";
  let arguments = (ins Simt_SharedPtr:$source, Simt_GenericPtr:$map, Variadic<I32>:$coordinates, Optional<I64>:$policy);
  let assemblyFormat = "$source `to` $map `[` $coordinates `]` (`policy` $policy^)? attr-dict";
}

def Simt_TmaPrefetchOp : Simt_EffectOp<"tma_prefetch", [Program_Needs<"tma">]> {
  let summary = "Fetches a tensor map into the descriptor cache";
  let arguments = (ins Simt_GenericPtr:$map);
  let assemblyFormat = "$map attr-dict";
}

def Simt_BulkCommitOp : Simt_EffectOp<"bulk_commit", [Program_Needs<"tma">]> {
  let summary = "Closes this thread's group of started bulk stores";
  let assemblyFormat = "attr-dict";
}

def Simt_BulkWaitOp : Simt_EffectOp<"bulk_wait", [Program_Needs<"tma">]> {
  let summary = "Waits until at most `pending` bulk groups of this thread are open";
  let description = "With `read` only until their source in shared memory has been read.";
  let arguments = (ins I64Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

def Simt_CopyAsyncOp : Simt_EffectOp<"copy_async", [Program_Needs<"cpAsync">]> {
  let summary = "cp.async: this thread starts to copy consecutive bytes from global to shared memory";
  let description = [{
    Both addresses are multiples of `bytes`: 4, 8 or 16. With `read` only so many of them are read, from 0 to all, and the
    others are written as zeros.
  }];
  let arguments = (ins Simt_GlobalPtr:$source, Simt_SharedPtr:$destination, I64Attr:$bytes, Optional<I32>:$read);
  let assemblyFormat = "$source `to` $destination `bytes` `(` $bytes `)` (`read` $read^)? attr-dict";
}

def Simt_CommitCopiesOp : Simt_EffectOp<"commit_copies", [Program_Needs<"cpAsync">]> {
  let summary = "cp.async.commit_group: closes this thread's group of started copies";
  let assemblyFormat = "attr-dict";
}

def Simt_AwaitCopiesOp : Simt_EffectOp<"await_copies", [Program_Needs<"cpAsync">]> {
  let summary = "cp.async.wait_group: waits until at most `pending` groups of this thread's copies are open";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "`pending` `(` $pending `)` attr-dict";
}

def Simt_ProxyFenceOp : Simt_EffectOp<"proxy_fence", [Program_Needs<"mbarrier">]> {
  let summary = "fence.proxy.async on shared memory, with `global` on all memory";
  let arguments = (ins UnitAttr:$global);
  let assemblyFormat = "(`global` $global^)? attr-dict";
}

#endif
