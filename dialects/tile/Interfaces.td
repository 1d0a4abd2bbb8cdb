// SPDX-License-Identifier: Apache-2.0
// What an operation says of itself, so that no analysis lists operations. Each operation implements these
// beside its verifier.
#ifndef TLC_DIALECTS_TILE_INTERFACES_TD
#define TLC_DIALECTS_TILE_INTERFACES_TD

include "dialects/program/Interfaces.td"

class Tile_OpInterface<string name> : OpInterface<name> {
  let cppNamespace = "::tlc::tile";
}

def Tile_AccessOpInterface : Tile_OpInterface<"AccessOpInterface"> {
  let description = [{
    Which memory the operation accesses, and who does it. Every operation of the dialect with effects implements
    it (`TileDialect::initialize` does not compile otherwise); without methods of its own, it accesses
    neither shared tiles nor tensors. What is in its regions is not its own.
  }];
  let methods = [
    InterfaceMethod<"The shared tiles and slices that it accesses, in the order of its operands.",
      "::llvm::SmallVector<::tlc::tile::MemoryAccess, 3>", "getMemoryAccesses", (ins), "", "return {};">,
    InterfaceMethod<[{Shared memory that is the operation's own for as long as it runs: null, or what it stages its data
      in. Barriers order no accesses to it.}],
      "::mlir::Value", "getStagingMemory", (ins), "", "return {};">,
    InterfaceMethod<[{Whether one thread may execute it for its whole role, with the same effect: it does not depend
      on the number of threads.}],
      "bool", "suitsOneThread", (ins), "", "return false;">
  ];
}

def Tile_SynchronisationOpInterface : Tile_OpInterface<"SynchronisationOpInterface"> {
  let description = "Orders accesses before it with those after it, of its own or of other threads.";
  let methods = [InterfaceMethod<"How it does.", "::tlc::tile::Synchronisation", "getSynchronisation">];
}

def Tile_InFlightOpInterface : Tile_OpInterface<"InFlightOpInterface"> {
  let description = [{
    Goes on after it was issued: what it accesses must not change, and what it gives must not be read, before it is
    known to be complete.
  }];
  let methods = [
    InterfaceMethod<"What completes it; nothing if it is complete when it is done.",
      "::std::optional<::tlc::tile::Completion>", "getCompletion">,
    InterfaceMethod<"With `Completion::ring`: the ring whose barrier counts it.",
      "::mlir::Value", "getCompletingRing", (ins), "", "return {};">,
    InterfaceMethod<"The result whose registers it writes while it is in flight, or null.",
      "::mlir::Value", "getValueInFlight", (ins), "", "return {};">,
    InterfaceMethod<"The operand whose registers these are, or null: it may be in flight, too.",
      "::mlir::OpOperand *", "getContinuedOperand", (ins), "", "return nullptr;">
  ];
}

def Tile_CompletionOpInterface : Tile_OpInterface<"CompletionOpInterface"> {
  let description = "Waits until what was started before is complete.";
  let methods = [
    InterfaceMethod<"What it waits for.", "::tlc::tile::Completion", "getCompleted">,
    InterfaceMethod<"How many of those started last may be in flight afterwards.",
      "int64_t", "getNumInFlight", (ins), "", "return 0;">,
    InterfaceMethod<"The value in flight that it takes, or null.",
      "::mlir::Value", "getAwaitedValue", (ins), "", "return {};">,
    InterfaceMethod<"The same value after the wait, or null.",
      "::mlir::Value", "getCompleteValue", (ins), "", "return {};">
  ];
}

def Tile_FragmentOpInterface : Tile_OpInterface<"FragmentOpInterface"> {
  let description = [{
    Has fragments among its operands or results and says which layouts they may have. Without rules of its own,
    they may have any.
  }];
  let methods = [
    InterfaceMethod<"States the rules. Fails with a diagnostic where no layout can be right.",
      "::llvm::LogicalResult", "stateLayouts", (ins "::tlc::tile::FragmentRules &":$rules), "",
      "return ::mlir::success();">,
    InterfaceMethod<"The operand in whose registers the result lies, or null: no instruction need write it.",
      "::mlir::Value", "getSharedRegisters", (ins), "", "return {};">,
    InterfaceMethod<"Whether elements of the result may be elements of the operand, which one register then holds.",
      "bool", "mayKeepElements", (ins), "", "return false;">
  ];
}

def Tile_ScratchOpInterface : Tile_OpInterface<"ScratchOpInterface"> {
  let description = [{
    Moves data between warps through scratch memory where layouts ask for it. With it all executing threads meet
    before the operation does anything, as in `tile.sync`.
  }];
  let methods = [
    InterfaceMethod<"What it needs of fragments that have their layouts, if it needs scratch memory.",
      "::std::optional<::tlc::tile::ScratchNeed>", "getScratchNeed">,
    InterfaceMethod<"For names and messages: what the operation does, such as \"a reduction\".",
      "::tlc::tile::ScratchWords", "getScratchWords">,
    InterfaceMethod<"The scratch memory, or null.", "::mlir::Value", "getScratch">,
    InterfaceMethod<"The operand for it.", "::mlir::MutableOperandRange", "getScratchMutable">
  ];
}

def Tile_AtomOpInterface : Tile_OpInterface<"AtomOpInterface"> {
  let description = "Is made of one of several instructions, which phase `atoms` chooses.";
  let methods = [
    InterfaceMethod<"Whether it has been chosen.", "bool", "hasAtom", (ins), [{
      return bool($_op.getAtomAttr());
    }]>,
    StaticInterfaceMethod<"For messages: what is made of it, such as \"product\".", "::llvm::StringRef", "getAtomUse">
  ];
}

def Tile_ProductOpInterface : Tile_OpInterface<"ProductOpInterface"> {
  let description = "Adds the product of two tiles to an accumulator.";
  let methods = [
    InterfaceMethod<"The left factor, in shared or tensor memory or in registers.", "::mlir::Value", "getA">,
    InterfaceMethod<"The right factor, in shared memory.", "::mlir::Value", "getB">,
    InterfaceMethod<"The accumulator: a fragment, or a tile in tensor memory.", "::mlir::Value", "getAcc">,
    InterfaceMethod<"Which elements of a sparse left factor it has: a fragment, or null.", "::mlir::Value", "getMetadata",
      (ins), "", "return {};">,
    InterfaceMethod<"How warps share it.", "::tlc::tile::WarpPolicy", "getPolicy">,
    InterfaceMethod<"The instruction, once chosen.", "::std::optional<::tlc::tile::MatrixAtom>", "getAtom">
  ];
}

def Tile_ViewOpInterface : Tile_OpInterface<"ViewOpInterface"> {
  let description = "Its result is a tile that lies in its first operand.";
  let methods = [InterfaceMethod<"The cursor whose slot it is, or null: a view of the same tile.",
    "::mlir::Value", "getSlotCursor", (ins), "", "return {};">];
}

def Tile_AllocationOpInterface : Tile_OpInterface<"AllocationOpInterface"> {
  let description = [{
    Makes an object in a memory space of the block that lives as long as the kernel and belongs to all roles. Each space
    has an allocator: `tile-plan-shared-memory`, `tile-plan-tensor-memory`.
  }];
  let methods = [
    InterfaceMethod<"The user's name.", "::llvm::StringRef", "getName">,
    InterfaceMethod<"Where it lies, once planned: bytes of shared memory, columns of tensor memory.",
      "::std::optional<uint64_t>", "getOffset">,
    InterfaceMethod<"Its memory space.", "::tlc::tile::MemorySpace", "getMemorySpace", (ins), "",
      "return ::tlc::tile::MemorySpace::shared;">,
    InterfaceMethod<"Of shared memory: what its offset must be a multiple of.", "int64_t", "getAlignment">,
    InterfaceMethod<"Takes its place in the block's budget, and returns where that is.", "int64_t", "takePlace",
      (ins "::tlc::BlockBudget &":$block)>,
    InterfaceMethod<"Sets where it lies.", "void", "setPlace", (ins "int64_t":$place), [{
      $_op.setOffset(uint64_t(place));
    }]>
  ];
}

def Tile_TracedOpInterface : Tile_OpInterface<"TracedOpInterface"> {
  let description = "Is there only before phase `promoted`.";
  let methods = [StaticInterfaceMethod<"For messages: what then no kernel has.", "::llvm::StringRef", "getTracedName">];
}

/// Of the launch: it stays outside of roles, and does nothing there.
def Tile_OfLaunch : NativeOpTrait<"OfLaunch"> {
  let cppNamespace = "::tlc::tile";
}

/// Has effects, but accesses neither shared tiles nor tensors.
def Tile_AccessesNothing : TraitList<[Tile_AccessOpInterface]>;
def Tile_Accesses : DeclareOpInterfaceMethods<Tile_AccessOpInterface, ["getMemoryAccesses"]>;
def Tile_AccessesForOne : DeclareOpInterfaceMethods<Tile_AccessOpInterface, ["getMemoryAccesses", "suitsOneThread"]>;
/// Has fragments and rules for their layouts.
def Tile_StatesLayouts : DeclareOpInterfaceMethods<Tile_FragmentOpInterface, ["stateLayouts"]>;

#endif
