// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every product, copy and store has its instruction, and the kernel its
/// number of warps. Each choice below the target's best leaves a remark with its reason.

#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/target/MmaAtoms.h"

#include "llvm/Support/FormatVariadic.h"

namespace tlc::tile {
#define GEN_PASS_DEF_SELECTATOMS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Rows of the staging panels of a store through the TMA, and their 16-bit columns: one swizzle span.
constexpr int64_t panelRows = 64, panelColumns = 64;
/// Accumulator registers per thread above which a product is given more warpgroups.
constexpr int64_t maxAccumulatorRegisters = 200;

struct GemmShape {
  int64_t m, n, k;
};

GemmShape shapeOf(GemmOp gemm) {
  auto acc = cast<RankedTensorType>(gemm.getAcc().getType());
  ArrayRef<int64_t> b = cast<SharedType>(gemm.getB().getType()).getShape();
  return {acc.getDimSize(0), acc.getDimSize(1), b[b.size() - 2]};
}

SharedLayout preferredLayout(SharedType type) {
  // A transposed view lies in memory as its buffer does.
  Shape shape(type.getShape().begin(), type.getShape().end());
  if (type.getTransposed())
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return SharedLayout::preferred(shape, type.getElementType().getIntOrFloatBitWidth(), int(shape.size()) - 1);
}

/// Why wgmma cannot read this operand; empty if it can. `kAxis` is in the view's axes.
std::string wgmmaOperandProblem(Type operand, int kAxis) {
  auto shared = dyn_cast<SharedType>(operand);
  if (!shared)
    return kAxis == 1 ? "" : "a transposed operand must be in shared memory";
  int axis = shared.getTransposed() ? 1 - kAxis : kAxis;
  Result<WgmmaOperand> described = wgmmaOperand(preferredLayout(shared), axis);
  return described ? "" : described.error().message;
}

/// Why this product cannot be made of wgmma by `warpgroups`; empty if it can.
std::string wgmmaProblem(GemmOp gemm, const Target &target, int64_t warpgroups) {
  GemmShape shape = shapeOf(gemm);
  if (!target.wgmma)
    return llvm::formatv("{0} has no wgmma", target.name).str();
  if (shape.m % 64)
    return llvm::formatv("m = {0} is not a multiple of 64", shape.m).str();
  if (shape.n % 8)
    return llvm::formatv("n = {0} is not a multiple of 8", shape.n).str();
  if (shape.k % 16)
    return llvm::formatv("k = {0} is not a multiple of 16", shape.k).str();
  WarpGrid grid = wgmmaGrid(shape.m, shape.n, warpgroups, tlc::WarpPolicy(gemm.getPolicy()));
  if (grid.alongM * grid.alongN != warpgroups || shape.m % (64 * grid.alongM) || shape.n % (8 * grid.alongN))
    return llvm::formatv("{0}x{1} does not divide among {2} warpgroups", shape.m, shape.n, warpgroups).str();
  std::string problem = wgmmaOperandProblem(gemm.getA().getType(), 1);
  return problem.empty() ? wgmmaOperandProblem(gemm.getB().getType(), 0) : problem;
}

std::string mmaSyncProblem(GemmOp gemm, const Target &target, int64_t warps) {
  GemmShape shape = shapeOf(gemm);
  if (!target.mmaSync)
    return llvm::formatv("{0} has no mma.sync", target.name).str();
  if (shape.m % 16 || shape.n % 8 || shape.k % 16)
    return llvm::formatv("{0}x{1}x{2} is not a multiple of 16x8x16", shape.m, shape.n, shape.k).str();
  WarpGrid grid = mmaGrid(shape.m, shape.n, warps, tlc::WarpPolicy(gemm.getPolicy()));
  if (shape.m % (16 * grid.alongM) || shape.n % (8 * grid.alongN))
    return llvm::formatv("{0}x{1} does not divide among {2} warps", shape.m, shape.n, warps).str();
  return "";
}

/// Warpgroups for products that may become wgmma: one per 64 rows up to three, and
/// more than one along N only if the accumulator asks for it.
int64_t chooseWarpgroups(ArrayRef<GemmOp> gemms) {
  int64_t warpgroups = 1;
  for (GemmOp gemm : gemms) {
    GemmShape shape = shapeOf(gemm);
    int64_t blocks = std::max<int64_t>(1, shape.m / 64);
    int64_t wanted = blocks % 3 == 0 ? 3 : blocks % 2 == 0 ? 2 : 1;
    while (shape.m * shape.n / (128 * wanted) > maxAccumulatorRegisters && wanted < 4)
      wanted *= 2;
    warpgroups = std::max(warpgroups, wanted);
  }
  return warpgroups;
}

program::TensorAttr tensorOf(SliceOp slice) {
  auto argument = cast<BlockArgument>(slice.getTensor());
  auto kernel = cast<KernelOp>(argument.getOwner()->getParentOp());
  return cast<program::TensorAttr>(kernel.getArgument(argument.getArgNumber()));
}

/// Why the TMA cannot move between this slice and a shared tile; empty if it can.
std::string tmaProblem(SliceOp slice, SharedType shared, const Target &target) {
  program::TensorAttr tensor = tensorOf(slice);
  if (!target.tma.available)
    return llvm::formatv("{0} has no TMA", target.name).str();
  if (tensor.getAlignment() < int64_t(target.tma.globalAlignment))
    return llvm::formatv("'{0}' is not known to be aligned to {1} bytes", tensor.getName(),
                         target.tma.globalAlignment)
        .str();
  if (slice.getFill())
    return "the TMA fills with zeros only";
  if (cast<GlobalType>(slice.getTensor().getType()).getShape().size() > target.tma.maxRank)
    return llvm::formatv("'{0}' has more than {1} axes", tensor.getName(), target.tma.maxRank).str();
  Result<TmaBoxes> boxes = tmaBoxes(preferredLayout(shared));
  return boxes ? "" : boxes.error().message;
}

class AtomSelector {
public:
  AtomSelector(KernelOp kernel, const Target &target, bool useTma, bool useWgmma)
      : kernel(kernel), target(target), useTma(useTma), useWgmma(useWgmma) {
    kernel.walk([&](Operation *op) {
      if (auto gemm = dyn_cast<GemmOp>(op))
        gemms.push_back(gemm);
      else if (auto copy = dyn_cast<CopyOp>(op))
        copies.push_back(copy);
      else if (auto store = dyn_cast<StoreOp>(op))
        stores.push_back(store);
      else if (auto require = dyn_cast<RequireOp>(op))
        requirements.push_back(require);
      else if (isa<RolesOp>(op))
        hasRoles = true;
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        hasPipelinedLoop |= loop->hasAttr(TileDialect::pipelineAttrName);
    });
  }

  LogicalResult run() {
    if (failed(selectProducts()))
      return failure();
    bool specializable = canSpecialize();
    if (failed(selectCopies(specializable)))
      return failure();
    selectStores(specializable);
    return success();
  }

private:
  /// A missed instruction: an error if the author requires it, else a remark.
  LogicalResult missed(Operation *op, Requirement what, StringRef id, const Twine &message) {
    for (RequireOp require : requirements)
      if (require.getWhat() == what) {
        InFlightDiagnostic diag = op->emitError() << message;
        diag.attachNote(require.getLoc()) << "required here";
        return diag;
      }
    op->emitRemark() << "[" << id << "] " << message;
    return success();
  }

  LogicalResult selectProducts() {
    int64_t warpgroups = kernel.getWarps() ? kernel.getWarps() / 4 : chooseWarpgroups(gemms);
    std::string problem;
    GemmOp culprit;
    if (gemms.empty())
      problem = "no product";
    else if (!useWgmma)
      problem = "wgmma is switched off";
    else if (kernel.getWarps() % 4)
      problem = llvm::formatv("{0} warps are not whole warpgroups", kernel.getWarps()).str();
    for (GemmOp gemm : gemms)
      if (problem.empty()) {
        // In the explicit form every role has its own warps; its operand shapes decide alone.
        int64_t own = warpgroups;
        if (auto role = gemm->getParentOfType<RoleOp>())
          own = std::max<int64_t>(1, role.getWarps() / 4);
        problem = wgmmaProblem(gemm, target, own);
        culprit = gemm;
      }
    allWgmma = problem.empty();
    if (allWgmma) {
      if (!kernel.getWarps())
        kernel.setWarps(4 * warpgroups);
      for (GemmOp gemm : gemms)
        gemm.setAtom(MatrixAtom::wgmma);
      return success();
    }
    if (!kernel.getWarps())
      kernel.setWarps(4);
    for (GemmOp gemm : gemms) {
      std::string reason =
          gemm == culprit || !culprit ? problem : "another product of the kernel cannot use it: " + problem;
      std::string noMma = mmaSyncProblem(gemm, target, kernel.getWarps());
      gemm.setAtom(noMma.empty() ? MatrixAtom::mma_sync : MatrixAtom::fma);
      StringRef chosen = noMma.empty() ? "mma.sync" : "multiply-add of single elements";
      if (failed(missed(gemm, Requirement::wgmma, "gemm-without-wgmma",
                        "product uses " + chosen + ", not wgmma: " + reason +
                            (noMma.empty() ? "" : "; not mma.sync: " + noMma))))
        return failure();
    }
    return success();
  }

  /// The load role issues every copy of the kernel, so all of them must fit the TMA.
  bool canSpecialize() {
    if (hasRoles)
      return true;
    if (!useTma || !allWgmma || !hasPipelinedLoop)
      return false;
    return llvm::all_of(copies, [&](CopyOp copy) {
      auto slice = copy.getSource().getDefiningOp<SliceOp>();
      auto shared = dyn_cast<SharedType>(copy.getDestination().getType());
      return slice && shared && tmaProblem(slice, shared, target).empty();
    });
  }

  std::string whyNoTma(CopyOp copy, bool specializable) {
    auto slice = copy.getSource().getDefiningOp<SliceOp>();
    auto shared = dyn_cast<SharedType>(copy.getDestination().getType());
    if (!slice || !shared)
      return "the TMA is used for copies from global to shared memory";
    if (!useTma)
      return "the TMA is switched off";
    if (std::string problem = tmaProblem(slice, shared, target); !problem.empty())
      return problem;
    if (specializable)
      return "";
    return allWgmma ? "other copies of the kernel cannot use it" : "the kernel is not warp-specialised";
  }

  LogicalResult selectCopies(bool specializable) {
    for (CopyOp copy : copies) {
      std::string problem = whyNoTma(copy, specializable);
      copy.setAtom(problem.empty() ? CopyAtom::tma : CopyAtom::simt);
      if (problem.empty())
        continue;
      if (failed(missed(copy, Requirement::tma, "copy-without-tma",
                        "copy uses ordinary loads, not the TMA: " + problem)))
        return failure();
    }
    return success();
  }

  /// A store through the TMA needs 16-bit elements in the accumulator's layout and whole panels.
  void selectStores(bool specializable) {
    for (StoreOp store : stores) {
      auto slice = store.getDestination().getDefiningOp<SliceOp>();
      auto value = cast<RankedTensorType>(store.getValue().getType());
      store.setAtom(CopyAtom::simt);
      if (!slice || !specializable || !useTma || value.getRank() != 2 ||
          value.getElementType().getIntOrFloatBitWidth() != 16)
        continue;
      auto role = store->getParentOfType<RoleOp>();
      int64_t warpgroups = (role ? role.getWarps() : kernel.getWarps()) / 4;
      SmallVector<int64_t> panels = {warpgroups, 2, panelRows, panelColumns};
      auto staging = SharedType::get(kernel.getContext(), panels, value.getElementType());
      auto panel = SharedType::get(kernel.getContext(), {panelRows, panelColumns}, value.getElementType());
      bool wholePanels = warpgroups > 0 && value.getDimSize(0) % (panelRows * warpgroups) == 0 &&
                         value.getDimSize(1) % panelColumns == 0;
      if (!wholePanels || !tmaProblem(slice, panel, target).empty())
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
      auto buffer = AllocSharedOp::create(builder, store.getLoc(), staging,
                                          (tensorOf(slice).getName() + ".staging").str(), IntegerAttr());
      store.setAtom(CopyAtom::tma);
      store.getStagingMutable().assign(buffer);
    }
  }

  KernelOp kernel;
  const Target &target;
  bool useTma, useWgmma;
  bool hasRoles = false, hasPipelinedLoop = false, allWgmma = false;
  SmallVector<GemmOp> gemms;
  SmallVector<CopyOp> copies;
  SmallVector<StoreOp> stores;
  SmallVector<RequireOp> requirements;
};

struct SelectAtoms : impl::SelectAtomsBase<SelectAtoms> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto target = kernel->getParentOfType<ModuleOp>()->getAttrOfType<program::TargetAttr>(
        program::ProgramDialect::targetAttrName);
    if (!target) {
      kernel.emitError("the module has no 'program.target'");
      return signalPassFailure();
    }
    if (failed(AtomSelector(kernel, target.getTarget(), tma, wgmma).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
