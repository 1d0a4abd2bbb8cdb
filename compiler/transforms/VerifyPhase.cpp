// SPDX-License-Identifier: Apache-2.0
/// \file
/// One table: what each phase promises about its kernels. Changes nothing.

#include "compiler/analysis/ProductsInFlight.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {
#define GEN_PASS_DEF_VERIFYPHASE
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// A promise about single operations that holds from phase `from` on.
struct Invariant {
  StringRef from;
  StringRef promise;
  bool (*isBroken)(Operation *op);
};

constexpr StringRef phases[] = {"input",     "promoted", "atoms",   "specialized", "scheduled",
                                "pipelined", "laid-out", "planned", "simt"};

template <class Op> bool lacksAtom(Operation *op) {
  auto typed = dyn_cast<Op>(op);
  return typed && !typed.getAtom();
}

bool lacksLayout(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return !isa_and_nonnull<LayoutAttr>(tensor.getEncoding());
  auto shared = dyn_cast<SharedType>(type);
  return shared && !shared.getLayout();
}

const Invariant invariants[] = {
    {"promoted", "no variables", [](Operation *op) { return isa<VariableOp, ReadOp, WriteOp>(op); }},
    {"promoted", "no persistent tile loops", [](Operation *op) { return isa<PersistentOp>(op); }},
    {"atoms", "an atom on every product",
     [](Operation *op) { return lacksAtom<GemmOp>(op) || lacksAtom<GemmAsyncOp>(op); }},
    {"atoms", "an atom on every copy", lacksAtom<CopyOp>},
    {"atoms", "an atom on every store", lacksAtom<StoreOp>},
    {"atoms", "a number of warps",
     [](Operation *op) {
       auto kernel = dyn_cast<KernelOp>(op);
       return kernel && kernel.getWarps() == 0;
     }},
    {"specialized", "no loop left to be pipelined",
     [](Operation *op) { return op->hasAttr(TileDialect::pipelineAttrName); }},
    {"specialized", "no synchronous load through the TMA",
     [](Operation *op) {
       auto copy = dyn_cast<CopyOp>(op);
       return copy && copy.getAtom() == CopyAtom::tma && isa<SliceType>(copy.getSource().getType());
     }},
    {"specialized", "registers of all roles or of none",
     [](Operation *op) {
       auto roles = dyn_cast<RolesOp>(op);
       auto sets = [](RoleOp role) { return role.getRegisters().has_value(); };
       return roles && llvm::any_of(roles.getBody().getOps<RoleOp>(), sets) &&
              !llvm::all_of(roles.getBody().getOps<RoleOp>(), sets);
     }},
    {"pipelined", "no scheduled loop", [](Operation *op) { return op->hasAttr(TileDialect::stageAttrName); }},
    {"laid-out", "a layout of every fragment and buffer",
     [](Operation *op) { return llvm::any_of(op->getResultTypes(), lacksLayout); }},
    {"planned", "an offset of every buffer, ring and barrier",
     [](Operation *op) {
       return isa<AllocSharedOp, AllocRingOp, AllocBarrierOp>(op) && !op->hasAttr("offset");
     }},
    {"simt", "no operation of the tile dialect",
     [](Operation *op) { return isa_and_nonnull<TileDialect>(op->getDialect()); }},
};

struct VerifyPhase : impl::VerifyPhaseBase<VerifyPhase> {
  using Base::Base;

  void runOnOperation() override {
    auto reached = llvm::find(phases, StringRef(phase));
    if (reached == std::end(phases)) {
      getOperation().emitError("unknown phase '")
          << phase << "': expected one of " << llvm::join(ArrayRef<StringRef>(phases), ", ");
      return signalPassFailure();
    }
    WalkResult result = getOperation().walk([&](Operation *op) {
      for (const Invariant &invariant : invariants)
        if (llvm::find(phases, invariant.from) <= reached && invariant.isBroken(op)) {
          op->emitError("phase '") << phase << "' promises " << invariant.promise << ", but here is '"
                                   << op->getName() << "'";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    // Before, products are in flight only where their author says so; afterwards the PTX is checked.
    if (reached >= llvm::find(phases, StringRef("pipelined")) &&
        reached <= llvm::find(phases, StringRef("planned")))
      for (KernelOp kernel : getOperation().getOps<KernelOp>())
        if (failed(verifyProductsInFlight(kernel)))
          return signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
