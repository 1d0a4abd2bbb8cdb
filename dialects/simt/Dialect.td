// SPDX-License-Identifier: Apache-2.0
// The simt dialect: what a thread, a warp or a warpgroup does.
#ifndef TLC_DIALECTS_SIMT_DIALECT_TD
#define TLC_DIALECTS_SIMT_DIALECT_TD

include "dialects/program/Interfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Dialect/Arith/IR/ArithBase.td"
include "mlir/Dialect/LLVMIR/LLVMTypes.td"

def Simt_Dialect : Dialect {
  let name = "simt";
  let cppNamespace = "::tlc::simt";
  let summary = "What a thread, a warp or a warpgroup does, in registers and instructions";
  let description = [{
    A `simt.kernel` is the program of one thread. A fragment is one value of `vector` type: this thread's registers of
    it, in the order of its layout. Addresses are `!llvm.ptr<3>` (shared), `!llvm.ptr<7>` (of any block of the cluster) and `!llvm.ptr<1>` (global). Arithmetic is
    `arith`, `math`, `vector`; control flow `scf`; thread and block numbers, warp shuffles and what else is
    right as it is come from `nvvm`. Operations here are the instructions that `nvvm` lacks or builds with less than is needed, one each.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::tlc::program::ProgramDialect"
  ];
}

class Simt_Op<string mnemonic, list<Trait> traits = []> : Op<Simt_Dialect, mnemonic, traits>;
/// Executed for its effect on memory or on other threads: never moved, merged or removed.
class Simt_EffectOp<string mnemonic, list<Trait> traits = []>
    : Simt_Op<mnemonic, !listconcat(traits, [MemoryEffects<[MemRead, MemWrite]>])>;

def Simt_SharedPtr : LLVM_PointerInAddressSpace<3>;
def Simt_GlobalPtr : LLVM_PointerInAddressSpace<1>;
def Simt_GenericPtr : LLVM_PointerInAddressSpace<0>;
def Simt_ClusterPtr : LLVM_PointerInAddressSpace<7>;
def Simt_AnyMemoryPtr : AnyTypeOf<[Simt_SharedPtr, Simt_GlobalPtr, Simt_ClusterPtr]>;

#endif
