// SPDX-License-Identifier: Apache-2.0
// Shared memory of other blocks of the cluster. Generated apart from the other operations: Cluster.h declares them for
// the few who use them.
#ifndef TLC_DIALECTS_TILE_OPSCLUSTER_TD
#define TLC_DIALECTS_TILE_OPSCLUSTER_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

/// Accesses a tile where it lies in the shared memory of block `block` of the cluster, or its rows from `first` on.
class Tile_OtherBlockOp<string mnemonic> : Tile_Op<mnemonic, [Program_Needs<"cluster">, Tile_Accesses, Tile_StatesLayouts]> {
  let hasVerifier = 1;
}

def Tile_LoadFromBlockOp : Tile_OtherBlockOp<"load_from_block"> {
  let summary = "Reads a shared tile of a block of the cluster into a fragment";
  let description = [{
    The tile is that of block `block`, counted as by `tile.block_rank`: all blocks have it at the same place. With `first`
    the fragment is its rows from there on. By ordinary loads of each thread (PTX ISA, ld.shared::cluster).

    What different blocks do to one tile takes effect in the order of the program: what stands before has been done by all
    blocks. `tile-place-cluster-syncs` places the `tile.cluster_sync` that this takes.

    Constraints
    - load_from_block_c1: as load_c1; with `first` tile and fragment have two axes and the same columns, the tile is not
      transposed and has at least the fragment's rows, whose number is a multiple of 8. `first` is a multiple of 8, too, which
      is checked where it is lowered.
    - load_from_block_c2: the kernel's `cluster` is more than 1.
    - load_from_block_c3: a known `block` is from 0 to the number of blocks less 1.
    - load_from_block_c4: elements of whole bytes.
    - load_from_block_c5: the tile is no slot of a buffer, which a ring of its own block hands over.

        %x = tile.load_from_block %tile of %block : !tile.shared<64x128xf32> -> tensor<64x128xf32>
        %y = tile.load_from_block %tile of %block rows %i : !tile.shared<64x128xf32> -> tensor<16x128xf32>
  }];
  let arguments = (ins Arg<Tile_SharedType, "what is read", [MemRead]>:$source, Index:$block, Optional<Index>:$first);
  let results = (outs Tile_AnyFragment:$value);
  let assemblyFormat = "$source `of` $block (`rows` $first^)? attr-dict `:` qualified(type($source)) `->` type($value)";
}

def Tile_StoreToBlockOp : Tile_OtherBlockOp<"store_to_block"> {
  let summary = "Writes a fragment to a shared tile of a block of the cluster";
  let description = [{
    As `tile.load_from_block`. Elements that several blocks write by one such operation have undefined values.

    Constraints
    - store_to_block_c1: as load_from_block_c1 to c5.

        tile.store_to_block %x, %tile of %block : tensor<64x128xf32>, !tile.shared<64x128xf32>
  }];
  let arguments = (ins Tile_AnyFragment:$value, Arg<Tile_SharedType, "what is written", [MemWrite]>:$destination,
    Index:$block, Optional<Index>:$first);
  let assemblyFormat = "$value `,` $destination `of` $block (`rows` $first^)? attr-dict `:` type($value) `,` qualified(type($destination))";
}

def Tile_ClusterSyncOp : Tile_Op<"cluster_sync", [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesNothing,
    DeclareOpInterfaceMethods<Tile_SynchronisationOpInterface>, Program_Needs<"cluster">]> {
  let summary = "The executing threads of all blocks of the cluster meet; they see what each other did before";
  let description = [{
    Placed by `tile-place-cluster-syncs`, where all blocks come equally often. Outside of roles all threads meet at the
    cluster's hardware barrier (PTX ISA, barrier.cluster). The threads of a role meet those of the same role of other
    blocks at `barrier`: each block's counts its role's threads and one of each other block.

    Constraints
    - cluster_sync_c1: the kernel's `cluster` is more than 1.
    - cluster_sync_c2: with `barrier` in a role, without it outside.

        tile.cluster_sync
        tile.cluster_sync on %barrier
  }];
  let arguments = (ins Optional<Tile_BarrierType>:$barrier);
  let assemblyFormat = "(`on` $barrier^)? attr-dict";
  let hasVerifier = 1;
}

#endif
