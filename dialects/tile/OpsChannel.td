// SPDX-License-Identifier: Apache-2.0
// Channels: slots that roles fill and hand over to others.
#ifndef TLC_DIALECTS_TILE_OPSCHANNEL_TD
#define TLC_DIALECTS_TILE_OPSCHANNEL_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

/// `tile-lower-channels` makes operations on rings of it.
class Tile_ChannelOpBase<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat(traits, [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesNothing,
        Tile_TracedOpInterface])> {
  string common = [{
    static ::llvm::StringRef getTracedName() { return "channels"; }
  }];
  let extraClassDeclaration = common;
}

/// A slot's cursor counts as many slots as its channel has.
class Tile_SlotOfChannel<string slot> : TypesMatchWith<"slot and channel have the same number of slots", "channel", slot,
    "CursorType::get($_self.getContext(), ::llvm::cast<ChannelType>($_self).getSlots())">;

def Tile_ChannelOp : Tile_ChannelOpBase<"channel", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Slots that roles fill and hand over to other roles";
  let description = [{
    A slot consists of one slot of each tile in shared or tensor memory that the roles index by it, which have the same number of slots. Roles put into it (`tile.put`), others get
    from it (`tile.get`), each of them every slot, in order, and give it back (`tile.release_oldest`). Several roles may put:
    a slot is full once all of them have put theirs. Several roles may release: it is empty once all of them have. Where none
    does, each slot is filled once. A channel `of` another one hands over the same slots once more: a role that holds a slot of
    that one puts into it, and who gets it from here may release it there. With `multicast` the blocks of a cluster fill their slots together: each copy of a put
    brings the block's share of the tile to all of them.

    Constraints
    - channel_c1: the other channel has the same number of slots, and slots of its own.
    - channel_c2: `multicast` only where the kernel's `cluster` is more than 1.

        %q = tile.channel "q" : !tile.channel<2>
        %o = tile.channel "o" of %q : !tile.channel<2> : !tile.channel<2>
  }];
  let arguments = (ins StrAttr:$name, Optional<Tile_ChannelType>:$of, UnitAttr:$multicast);
  let hasVerifier = 1;
  let results = (outs Res<Tile_ChannelType, "the channel", [MemAlloc]>:$channel);
  let assemblyFormat = "$name (`of` $of^ `:` qualified(type($of)))? (`multicast` $multicast^)? attr-dict `:` qualified(type($channel))";
}

def Tile_PutOp : Tile_ChannelOpBase<"put", [SingleBlock, NoTerminator]> {
  let summary = "Fills the role's next slot and hands it over";
  let description = [{
    Waits until the slot is empty, if roles release any, and runs the region with the slot's cursor. The slot is full when
    all is complete that the region does to shared and tensor memory: copies, also those that the TMA makes, stores, and products
    that add up in tensor memory. The role does not wait for the TMA's copies and for products. The result is the slot, too: the role may read
    from it what its threads wrote, until it fills the slot again.

    Constraints
    - put_c1: the region's argument and the result are cursors of the channel's number of slots.
    - put_c2: the region has no `tile.put`, and no `tile.get` of the same channel.

        %filled = tile.put %kv(%slot) : !tile.channel<2> {
          %k = tile.slot %keys[%slot] : ...
          tile.copy %from, %k : ...
        }
  }];
  let arguments = (ins Tile_ChannelType:$channel);
  let results = (outs Tile_CursorType:$filled);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$channel)>]; ///< with an empty body
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = common # [{
    /// The slot, in the region.
    ::mlir::Value getSlot() { return getBody().getArgument(0); }
  }];
}

class Tile_SlotOfRole<string mnemonic> : Tile_ChannelOpBase<mnemonic, [Tile_SlotOfChannel<"slot">]> {
  let arguments = (ins Tile_ChannelType:$channel);
  let results = (outs Tile_CursorType:$slot);
  let assemblyFormat = "$channel attr-dict `:` qualified(type($channel))";
}

def Tile_GetOp : Tile_SlotOfRole<"get"> {
  let summary = "Waits until the role's next slot is full";
  let description = "A role that never releases looks at the slots, which others give back; see also `by_others`.";
}

def Tile_ReclaimOp : Tile_SlotOfRole<"reclaim"> {
  let summary = "Waits until the slot is empty that the role fills next";
  let description = "The role may use what those that had the slot left in it, until its next `tile.put`.";
}

def Tile_OldestOp : Tile_SlotOfRole<"oldest"> {
  let summary = "The slot that the role's next `tile.release_oldest` gives back";
}

def Tile_ReleaseOldestOp : Tile_ChannelOpBase<"release_oldest"> {
  let summary = "Gives back the oldest slot that the role has not given back yet";
  let description = [{
    It may be filled again. A role may give back slots that only others got, once it knows that they are done with them. With
    `after_products` it is given back as soon as the products in tensor memory are complete that the role has started. With
    `by_others` the role is done with the slot, which another role gives back.

    Constraints
    - release_oldest_c1: not both of `after_products` and `by_others`.
  }];
  let arguments = (ins Tile_ChannelType:$channel, UnitAttr:$after_products, UnitAttr:$by_others);
  let hasVerifier = 1;
  let assemblyFormat = "$channel (`after_products` $after_products^)? (`by_others` $by_others^)? attr-dict `:` qualified(type($channel))";
}

#endif
