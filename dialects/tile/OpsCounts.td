// SPDX-License-Identifier: Apache-2.0
// Counts in global memory, by which blocks, and ranks, order what they do to tensors. Generated apart from the other
// operations: Counts.h declares them for the few who use them.
#ifndef TLC_DIALECTS_TILE_OPSCOUNTS_TD
#define TLC_DIALECTS_TILE_OPSCOUNTS_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// On an element of a tensor of i32 that counts what blocks have done: through it they order their accesses. Counts in a
/// symmetric tensor order what ranks do: their scope is the system, others' the device.
class Tile_CountOp<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesForOne,
    DeclareOpInterfaceMethods<Tile_SynchronisationOpInterface>]> {
  let hasVerifier = 1;
}

def Tile_AnnounceOp : Tile_CountOp<"announce"> {
  let summary = "Counts up, once what the executing threads have done before is complete";
  let description = [{
    They meet, and one of them adds `by`, with release (red.release.gpu or .sys; PTX ISA, memory consistency model).
    A block that learns of it by `tile.wait_for` or `tile.take` sees what these threads have written, and what others
    had handed to them by then; what it writes itself, they no longer read. That includes accesses by the TMA. An
    element outside the tensor counts nothing. A slice `of_all` counts on each rank (multimem.red.release.sys).

    Constraints
    - announce_c1: the slice is of one element of i32.

        tile.announce %count by %n : !tile.slice<1xi32>
  }];
  let arguments = (ins Tile_SliceType:$count, Index:$by);
  let assemblyFormat = "$count `by` $by attr-dict `:` qualified(type($count))";
}

def Tile_WaitForOp : Tile_CountOp<"wait_for"> {
  let summary = "Waits until a count is at least a number";
  let description = [{
    One of the executing threads reads the count until it is, with acquire (ld.acquire.gpu or .sys), and all meet. For
    an element outside the tensor nobody waits. Blocks may run one after the other: a block that waits for what only a
    block does that has yet to start may wait for ever. `tile.take` tells which blocks have started.

    With a `limit` of so many nanoseconds, a wait that lasts longer is reported as a failed check (runtime/artifact/Reports.h),
    and ends as if the count were large enough. From then on the other waits of the program with a limit end so, too,
    until the launcher has read the report, so that the kernel ends, with results that are wrong.

    Constraints
    - wait_for_c1: as announce_c1.
    - wait_for_c2: the limit is positive.

        tile.wait_for %count at_least %n : !tile.slice<1xi32>
        tile.wait_for %count at_least %n within 10000000000 ns : !tile.slice<1xi32>
  }];
  let arguments = (ins Tile_SliceType:$count, Index:$least, OptionalAttr<I64Attr>:$limit);
  let assemblyFormat = "$count `at_least` $least (`within` $limit^ `ns`)? attr-dict `:` qualified(type($count))";
}

def Tile_TakeOp : Tile_CountOp<"take"> {
  let summary = "Counts one up, and writes what the count was before to an element of a shared tile";
  let description = [{
    The executing threads meet, and one of them adds and writes (atom.acq_rel.gpu or .sys): no two get the same number, and whoever
    gets a number starts later than those with smaller ones. As `tile.announce` it says that what these threads did
    before is complete, and whoever reads the number sees what was announced before. For an element outside the tensor
    the number is 0.

    Constraints
    - take_c1: as announce_c1.
    - take_c2: a tile of i32 and one position per axis.

        tile.take %count, %tile[%c0] : !tile.slice<1xi32>, !tile.shared<1xi32>
  }];
  let arguments = (ins Tile_SliceType:$count, Tile_SharedType:$destination, Variadic<Index>:$position);
  let assemblyFormat = "$count `,` $destination `[` $position `]` attr-dict `:` qualified(type($count)) `,` qualified(type($destination))";
}

def Tile_AllocResponseOp : Tile_Op<"alloc_response", [Tile_AccessesNothing,
    DeclareOpInterfaceMethods<Tile_AllocationOpInterface>, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Room for a response of cluster launch control, and an mbarrier of one arrival, initialised at kernel entry";
  let description = [{
    Constraints
    - alloc_response_c1: `offset` is a multiple of 16, at least 0.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Tile_ResponseType, "the response", [MemAlloc]>:$response);
  let assemblyFormat = "$name (`at` $offset^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_NextBlockOp : Tile_Op<"next_block", [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesForOne,
    DeclareOpInterfaceMethods<Tile_SynchronisationOpInterface>, Program_Needs<"launchControl">]> {
  let summary = "Writes the number of the `n`-th block whose work this block does to an element of a shared tile";
  let description = [{
    The executing threads meet, and one of them writes. For n = 0 the number is `own`, this block's. From then on it cancels
    a block of the launch that has not started (clusterlaunchcontrol.try_cancel), and writes that one's position along the
    first axis of the grid, or -1 if there is none. A block executes it for n = 0, 1, 2, ... in this order, and
    not after -1. It orders no accesses to tensors.

    Constraints
    - next_block_c1: a tile of i32 and one position per axis.

        tile.next_block %own, %n by %response, %tile[%c0] : !tile.shared<1xi32>
  }];
  let arguments = (ins Index:$own, Index:$n, Tile_ResponseType:$response, Tile_SharedType:$destination,
    Variadic<Index>:$position);
  let assemblyFormat = "$own `,` $n `by` $response `,` $destination `[` $position `]` attr-dict `:` qualified(type($destination))";
  let hasVerifier = 1;
}

#endif
