// SPDX-License-Identifier: Apache-2.0
// Rings and cursors, barriers, fences.
#ifndef TLC_DIALECTS_TILE_OPSSYNC_TD
#define TLC_DIALECTS_TILE_OPSSYNC_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

/// A cursor belongs to a ring of as many slots.
def Tile_CursorOfRing : TypesMatchWith<"cursor and ring have the same number of slots", "ring", "cursor",
    "CursorType::get($_self.getContext(), ::llvm::cast<RingType>($_self).getSlots())">;

/// Orders accesses, and makes none.
class Tile_SyncBase<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat(traits, [MemoryEffects<[MemRead, MemWrite]>,
        DeclareOpInterfaceMethods<Tile_SynchronisationOpInterface>])>;
/// One that one thread may execute for its role.
def Tile_ForOne : DeclareOpInterfaceMethods<Tile_AccessOpInterface, ["suitsOneThread"]>;

/// May arrive after products, which needs the unit that makes them.
def Tile_CommitsProducts : DeclareOpInterfaceMethods<Program_UnitOpInterface>;

class Tile_RingOp<string mnemonic> : Tile_SyncBase<mnemonic, [Tile_CursorOfRing, Tile_ForOne]> {
  let arguments = (ins Tile_RingType:$ring, Tile_CursorType:$cursor);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` qualified(type($ring))";
}

def Tile_AllocRingOp : Tile_Op<"alloc_ring", [Tile_AccessesNothing, DeclareOpInterfaceMethods<Tile_AllocationOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "The barriers of a ring, initialised at kernel entry";
  let description = [{
    A slot is full when all roles that fill it have arrived (`tile.expect`, `tile.publish`) and the expected bytes are there, and
    empty again when all that read it have (`tile.release`). The number of arrivals follows from these operations:
    the roles that have some add up, and so does what one role does at one position; of the branches of a condition the one with
    more arrivals counts. `offset` is set by `tile-plan-shared-memory`.

    Constraints
    - alloc_ring_c1: `offset` is a multiple of 8, at least 0.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Tile_RingType, "the ring", [MemAlloc]>:$ring);
  let assemblyFormat = "$name (`at` $offset^)? attr-dict `:` qualified(type($ring))";
  let extraClassDeclaration = [{
    /// Arrivals that make a slot full (dialects/tile/RingArrivals.h).
    int64_t getProducers();
    /// Arrivals that make a slot empty; with multicast, those of all blocks of the cluster.
    int64_t getConsumers();
    /// Whether blocks of a cluster fill the slots together.
    bool isFilledByMulticast();
  }];
  let hasVerifier = 1;
}

def Tile_CursorOp : Tile_Op<"cursor", [Pure]> {
  let summary = "A cursor at the ring's first position";
  let results = (outs Tile_CursorType:$cursor);
  let assemblyFormat = "attr-dict `:` qualified(type($cursor))";
}

def Tile_AdvanceOp : Tile_Op<"advance", [Pure, SameOperandsAndResultType]> {
  let summary = "The next position";
  let arguments = (ins Tile_CursorType:$cursor);
  let results = (outs Tile_CursorType:$next);
  let assemblyFormat = "$cursor attr-dict `:` qualified(type($cursor))";
}

def Tile_AcquireOp : Tile_RingOp<"acquire"> {
  let summary = "Producer: waits until the slot is empty";
  let description = "Returns at once on the first round. The issuing thread may then overwrite the slot.";
}

def Tile_ExpectOp : Tile_SyncBase<"expect", [Tile_CursorOfRing, Tile_ForOne]> {
  let summary = "Producer: announces the bytes that asynchronous copies will bring, and arrives once";
  let description = [{
    One thread of the role executes it, before the copies of this position.

    Constraints
    - expect_c1: `bytes` is not negative and below 2^20 (the limit of an mbarrier's transaction count).
  }];
  let arguments = (ins Tile_RingType:$ring, Tile_CursorType:$cursor, I64Attr:$bytes);
  let assemblyFormat = "$ring `[` $cursor `]` `bytes` `(` $bytes `)` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Tile_PublishOp : Tile_SyncBase<"publish", [Tile_CursorOfRing, Tile_ForOne,
    DeclareOpInterfaceMethods<Program_UnitOpInterface>]> {
  let summary = "Producer: says that what it wrote is there";
  let description = [{
    Every warpgroup of the role (the role, if it is smaller) arrives once on `full`, after all its threads' writes. With
    `after_products` the tensor core arrives once in their place, as soon as the `tile.gemm_in_place` that the role has
    started before are complete. With `after_copies` every thread of the role arrives once, as soon as the copies are complete
    that it has started before with the atom `cp_async`; nobody waits for that. Of its other writes such an arrival says nothing.
    With `with_stores`, set by `tile-settle-copies` where threads store a part of the tile, each waits for its copies and then
    arrives, which tells of its stores, too.

    Constraints
    - publish_c1: not both of `after_products` and `after_copies`.
    - publish_c2: `with_stores` only with `after_copies`.
    - publish_c3: without `after_products`, it is in a role, or its kernel has a number of warps.

        tile.copy %slice, %slot atom<cp_async>
        tile.publish %ring[%cursor] after_copies
  }];
  let arguments = (ins Tile_RingType:$ring, Tile_CursorType:$cursor, UnitAttr:$after_products, UnitAttr:$after_copies,
    UnitAttr:$with_stores);
  let assemblyFormat = "$ring `[` $cursor `]` (`after_products` $after_products^)? (`after_copies` $after_copies^)? (`with_stores` $with_stores^)? attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_RingOp<"await"> {
  let summary = "Consumer: waits until the slot is full";
}

def Tile_ReleaseOp : Tile_SyncBase<"release", [Tile_CursorOfRing, Tile_ForOne, Tile_CommitsProducts]> {
  let summary = "Consumer: the slot may be refilled";
  let description = [{
    Each warpgroup of the role (the role, if it is smaller) arrives once on `empty`, by one of its threads. With
    `after_meeting` all its threads meet first. `tile-place-release-meetings` sets it where some may still read the slot, or
    have yet to see that it was full. With `after_products` as in `tile.publish`.

    Constraints
    - release_c1: not both of `after_products` and `after_meeting`.
    - release_c2: as publish_c3.

        tile.release %ring[%cursor] after_meeting
  }];
  let arguments = (ins Tile_RingType:$ring, Tile_CursorType:$cursor, UnitAttr:$after_products, UnitAttr:$after_meeting);
  let assemblyFormat = "$ring `[` $cursor `]` (`after_products` $after_products^)? (`after_meeting` $after_meeting^)? attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Tile_AllocBarrierOp : Tile_Op<"alloc_barrier", [Tile_AccessesNothing, DeclareOpInterfaceMethods<Tile_AllocationOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "An mbarrier, initialised at kernel entry";
  let description = [{
    Constraints
    - alloc_barrier_c1: `count` is at least 1 and below 2^20.
    - alloc_barrier_c2: `offset` is a multiple of 8, at least 0.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$count, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Tile_BarrierType, "the barrier", [MemAlloc]>:$barrier);
  let assemblyFormat = "$name `count` `(` $count `)` (`at` $offset^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_ArriveOp : Tile_SyncBase<"arrive", [Tile_ForOne, Tile_CommitsProducts]> {
  let summary = "Each executing thread arrives on the barrier";
  let description = [{
    With `after_products` the tensor core does, once, as in `tile.publish`.

    Constraints
    - arrive_c1: as publish_c3.
  }];
  let arguments = (ins Tile_BarrierType:$barrier, UnitAttr:$after_products);
  let assemblyFormat = "$barrier (`after_products` $after_products^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_WaitOp : Tile_SyncBase<"wait", [Tile_ForOne]> {
  let summary = "Waits until the barrier has completed phase number `phase`, counted from 0 over the whole kernel";
  let arguments = (ins Tile_BarrierType:$barrier, Index:$phase);
  let assemblyFormat = "$barrier `phase` `(` $phase `)` attr-dict";
}

def Tile_NamedBarrierOp : Tile_SyncBase<"named_barrier", [Tile_AccessesNothing]> {
  let summary = "Meets the other warps of a hardware barrier";
  let description = [{
    `warps` is the number of warps that take part, over all roles. With `arrive` the executing warps do not wait.

    Constraints
    - named_barrier_c1: `id` is 1 to 15 (0 is the whole block's); `warps` is positive.
    - named_barrier_c2: as publish_c3.
  }];
  let arguments = (ins I64Attr:$id, I64Attr:$warps, UnitAttr:$arrive);
  let assemblyFormat = "$id `warps` `(` $warps `)` (`arrive` $arrive^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_TakeTurnOp : Tile_SyncBase<"take_turn", [Tile_AccessesNothing]> {
  let summary = "Waits until it is the executing warpgroup's turn";
  let description = [{
    The warpgroups of a role have turns in the order of their numbers, round and round, beginning with the first. A turn
    lasts until the warpgroup executes `tile.pass_turn`. What warpgroups issue in their turns, they issue one after the other:
    while the products of one run, the other computes. Turns order no accesses to memory. In a role of one warpgroup
    it is always that one's turn.

    Constraints
    - take_turn_c1: in a role of whole warpgroups.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_PassTurnOp : Tile_SyncBase<"pass_turn", [Tile_AccessesNothing]> {
  let summary = "Ends the executing warpgroup's turn: the next one's begins";
  let description = [{
    Constraints
    - pass_turn_c1: as take_turn_c1.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_SyncOp : Tile_SyncBase<"sync", [Tile_ForOne]> {
  let summary = "All threads of the enclosing role (of the block, outside roles) meet; their writes to shared memory are visible";
  let assemblyFormat = "attr-dict";
}

def Tile_AwaitStoresOp : Tile_Op<"await_stores", [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesNothing,
    DeclareOpInterfaceMethods<Tile_CompletionOpInterface>]> {
  let summary = "The threads that stored fragments through the TMA wait until the tensors hold them";
  let assemblyFormat = "attr-dict";
}

def Tile_CommitCopiesOp : Tile_Op<"commit_copies", [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesNothing,
    Program_Needs<"cpAsync">]> {
  let summary = "Closes each thread's group of copies that it has started with the atom `cp_async`, be it empty";
  let assemblyFormat = "attr-dict";
}

def Tile_AwaitCopiesOp : Tile_Op<"await_copies", [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesNothing,
    DeclareOpInterfaceMethods<Tile_CompletionOpInterface, ["getNumInFlight"]>, Program_Needs<"cpAsync">]> {
  let summary = "Each thread waits until at most `pending` of its groups of copies are in flight";
  let description = [{
    The thread's own parts are there then; others see them after a `tile.sync` or `tile.publish`.

    Constraints
    - await_copies_c1: `pending` is at least 0.

        tile.copy %slice, %slot atom<cp_async>
        tile.commit_copies
        tile.await_copies pending(0)
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "`pending` `(` $pending `)` attr-dict";
  let hasVerifier = 1;
}

def Tile_ProxyFenceOp : Tile_SyncBase<"proxy_fence", [Tile_AccessesNothing]> {
  let summary = "Orders this thread's ordinary accesses to shared memory, with `tensors` to global memory, too, before later asynchronous ones (TMA, wgmma)";
  let arguments = (ins UnitAttr:$tensors);
  let assemblyFormat = "(`tensors` $tensors^)? attr-dict";
}

def Tile_TensorMemoryFenceOp : Tile_SyncBase<"tensor_memory_fence", [Tile_ForOne, Program_Needs<"tcgen05">]> {
  let summary = "Orders this thread's accesses to tensor memory before it meets others, or `after`, those that follow";
  let description = [{
    Products and accesses to tensor memory are ordered with barriers only by such a fence on either side. Placed by
    `tile-place-tensor-memory-fences`.
  }];
  let arguments = (ins UnitAttr:$after);
  let assemblyFormat = "(`after` $after^)? attr-dict";
}

#endif
