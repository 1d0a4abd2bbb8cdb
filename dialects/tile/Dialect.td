// SPDX-License-Identifier: Apache-2.0
// The tile dialect: what a block of threads does, in tiles.
#ifndef TLC_DIALECTS_TILE_DIALECT_TD
#define TLC_DIALECTS_TILE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tlc::tile";
  let summary = "What a block of threads does, in tiles";
  let description = [{
    A `tile.kernel` is the program of one thread block. Values are
    - *fragments*: tiles spread over the registers of the executing threads.
      They are SSA values of builtin `tensor` type, so `arith` and `math`
      operations apply to them element by element; the tensor's encoding is
      the fragment's layout (`#tile.layout`), absent until layouts are inferred;
    - *shared buffers* (`!tile.shared`): memory of the block;
    - *global tensors* (`!tile.global`) and guarded *slices* of them (`!tile.slice`);
    - *rings and cursors*: synchronisation by name and position, never by parity.

    Control flow is `scf.for` and `scf.if`. Positions and extents are `index`,
    which is 32 bits on the device; addresses are formed in 64 bits.

    Unless an operation says otherwise, it is executed by all threads of the
    enclosing `tile.role`, or of the kernel outside roles, and its effects on
    memory are complete for those threads when it is done.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::tlc::program::ProgramDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    /// Loop attribute of type PipelineAttr on an `scf.for` that is to be pipelined.
    static constexpr llvm::StringLiteral pipelineAttrName = "tile.pipeline";
    /// Attribute of type StageAttr on the operations of a scheduled loop.
    static constexpr llvm::StringLiteral stageAttrName = "tile.stage";
    /// Attribute of type RolePlanAttr on a kernel.
    static constexpr llvm::StringLiteral rolePlanAttrName = "tile.role_plan";
    /// The name of the planned role that executes an operation.
    static constexpr llvm::StringLiteral roleAttrName = "tile.role";
    /// The name of the channel whose slots a copy or a store fills.
    static constexpr llvm::StringLiteral channelAttrName = "tile.channel";
    /// On such a copy: all blocks of the cluster load the same tile together.
    static constexpr llvm::StringLiteral multicastAttrName = "tile.multicast";
    /// Why no role of its own makes a copy from a tensor to shared memory, as a string.
    static constexpr llvm::StringLiteral withoutRoleAttrName = "tile.without_role";

  private:
    void registerAttributes();
    void registerTypes();
  }];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

#endif
