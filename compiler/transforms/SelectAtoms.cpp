// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every product, copy and store has its instruction, and the kernel its
/// number of warps. Each choice below the target's best leaves a remark with its reason.

#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/Divisibility.h"
#include "compiler/analysis/ElementOrders.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Shapes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "runtime/target/MmaAtoms.h"

#include "llvm/ADT/TypeSwitch.h"
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

/// A `tile.gemm` or `tile.gemm_async`.
struct Product {
  Operation *op;
  Value a, b;
  ElementType element; ///< of the factors; the sums are f32
  int64_t m, n, k;
  tlc::WarpPolicy policy;

  template <class Gemm> static Product of(Gemm gemm) {
    auto acc = cast<RankedTensorType>(gemm.getAcc().getType());
    ArrayRef<int64_t> b = cast<SharedType>(gemm.getB().getType()).getShape();
    return {gemm,
            gemm.getA(),
            gemm.getB(),
            *toElementType(elementTypeOf(gemm.getB().getType())),
            acc.getDimSize(0),
            acc.getDimSize(1),
            b[b.size() - 2],
            tlc::WarpPolicy(gemm.getPolicy())};
  }
};

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

/// The largest instruction of that kind for the product's types, or null.
const MmaAtom *findAtom(const Product &product, const Target &target, MmaKind kind) {
  for (const MmaAtom *atom : findMmaAtoms(target, product.element, product.element, ElementType::f32))
    if (atom->kind == kind)
      return atom;
  return nullptr;
}

/// Why this product cannot be made of wgmma by `warps`; empty if it can.
std::string wgmmaProblem(const Product &product, const Target &target, int64_t warps) {
  auto [op, a, b, element, m, n, k, policy] = product;
  const MmaAtom *atom = findAtom(product, target, MmaKind::wgmma);
  if (!atom)
    return llvm::formatv("{0} has no {1}", target.name, toString(MmaKind::wgmma)).str();
  if (warps % warpsPerWarpgroup)
    return llvm::formatv("{0} warps are not whole warpgroups", warps).str();
  if (m % atom->m)
    return llvm::formatv("m = {0} is not a multiple of {1}", m, atom->m).str();
  if (n % atom->nStep)
    return llvm::formatv("n = {0} is not a multiple of {1}", n, atom->nStep).str();
  if (k % atom->k)
    return llvm::formatv("k = {0} is not a multiple of {1}", k, atom->k).str();
  int64_t warpgroups = warps / warpsPerWarpgroup;
  WarpGrid grid = wgmmaGrid(m, n, warpgroups, policy);
  if (m % (atom->m * grid.alongM) || n % (atom->nStep * grid.alongN))
    return llvm::formatv("{0}x{1} does not divide among {2} warpgroups", m, n, warpgroups).str();
  std::string problem = wgmmaOperandProblem(a.getType(), 1);
  return problem.empty() ? wgmmaOperandProblem(b.getType(), 0) : problem;
}

std::string mmaSyncProblem(const Product &product, const Target &target, int64_t warps) {
  auto [op, a, b, element, m, n, k, policy] = product;
  const MmaAtom *atom = findAtom(product, target, MmaKind::mmaSync);
  if (!atom)
    return llvm::formatv("{0} has no {1}", target.name, toString(MmaKind::mmaSync)).str();
  if (m % atom->m || n % atom->nStep || k % atom->k)
    return llvm::formatv("{0}x{1}x{2} is not a multiple of {3}x{4}x{5}", m, n, k, atom->m, atom->nStep,
                         atom->k)
        .str();
  WarpGrid grid = mmaGrid(m, n, warps, policy);
  if (m % (atom->m * grid.alongM) || n % (atom->nStep * grid.alongN))
    return llvm::formatv("{0}x{1} does not divide among {2} warps", m, n, warps).str();
  return "";
}

/// Warpgroups for products that may become wgmma: one per 64 rows up to three, and
/// more than one along N only if the accumulator asks for it.
int64_t chooseWarpgroups(ArrayRef<Product> products) {
  int64_t warpgroups = 1;
  for (const Product &product : products) {
    int64_t blocks = std::max<int64_t>(1, product.m / 64);
    int64_t wanted = blocks % 3 == 0 ? 3 : blocks % 2 == 0 ? 2 : 1;
    while (product.m * product.n / (128 * wanted) > maxAccumulatorRegisters && wanted < 4)
      wanted *= 2;
    warpgroups = std::max(warpgroups, wanted);
  }
  return warpgroups;
}

/// Warps for a kernel without wgmma: as many as for one with, fewer where products do not divide among them.
int64_t chooseWarps(ArrayRef<Product> products, const Target &target) {
  int64_t most = chooseWarpgroups(products) * warpsPerWarpgroup;
  for (int64_t warps = most; warps >= 1; --warps)
    if (most % warps == 0 && llvm::all_of(products, [&](const Product &product) {
          return mmaSyncProblem(product, target, warps).empty();
        }))
      return warps;
  return warpsPerWarpgroup;
}

/// Warps that execute an operation of a kernel with `warps`.
int64_t warpsAt(Operation *op, int64_t warps) {
  auto role = op->getParentOfType<RoleOp>();
  return role ? int64_t(role.getWarps()) : warps;
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
  if (Value fill = slice.getFill();
      fill && !matchPattern(fill, m_Zero()) && !matchPattern(fill, m_PosZeroFloat()))
    return "the TMA fills with zeros only";
  if (cast<GlobalType>(slice.getTensor().getType()).getShape().size() > target.tma.maxRank)
    return llvm::formatv("'{0}' has more than {1} axes", tensor.getName(), target.tma.maxRank).str();
  if (slice.getLimit()) {
    size_t rank = slice.getOrigin().size();
    if (size_t(*slice.getLimitedAxis()) + 1 == rank)
      return llvm::formatv("the limit is along the last axis of '{0}', whose elements are adjacent",
                           tensor.getName())
          .str();
    if (rank + 1 > target.tma.maxRank)
      return llvm::formatv("'{0}' has {1} axes, and a limit takes one more of the TMA's {2}",
                           tensor.getName(), rank, target.tma.maxRank)
          .str();
  }
  // A box that begins elsewhere is an illegal instruction.
  int64_t granule = target.tma.innerBoxGranularity * 8 / shared.getElementType().getIntOrFloatBitWidth();
  if (granule > 1 && knownDivisor(slice.getOrigin().back()) % granule != 0)
    return llvm::formatv(
               "the slice of '{0}' is not known to begin at a multiple of {1} elements along its last axis",
               tensor.getName(), granule)
        .str();
  Result<TmaBoxes> boxes = tmaBoxes(preferredLayout(shared));
  return boxes ? "" : boxes.error().message;
}

/// Whether the last axis of a tile is the last one of the slice, extents of 1 aside.
bool hasRowsAlongLastAxis(SliceOp slice, ArrayRef<int64_t> tile) {
  return cast<SliceType>(slice.getSlice().getType()).getShape().back() == tile.back();
}

/// Why the TMA cannot fill this shared tile from the slice; empty if it can.
std::string loadProblem(SliceOp slice, SharedType shared, const Target &target) {
  std::string problem = tmaProblem(slice, shared, target);
  if (problem.empty() && !hasRowsAlongLastAxis(slice, shared.getShape()))
    return llvm::formatv("the tile's rows do not run along the last axis of '{0}'", tensorOf(slice).getName())
        .str();
  return problem;
}

/// A known divisor of the extent of the tensor's last axis.
int64_t lastExtentDivisor(SliceOp slice) {
  int64_t extent = cast<GlobalType>(slice.getTensor().getType()).getShape().back();
  if (!ShapedType::isDynamic(extent))
    return extent;
  auto kernel = cast<KernelOp>(cast<BlockArgument>(slice.getTensor()).getOwner()->getParentOp());
  auto dimension =
      cast<program::DimensionAttr>(kernel.getArgument(unsigned(tensorOf(slice).getDims().back())));
  return dimension.getFixed() >= 0 ? dimension.getFixed() : dimension.getMultipleOf();
}

/// Why the TMA cannot store this shared tile to the slice; empty if it can.
std::string storeProblem(SharedType shared, SliceOp slice, const Target &target) {
  std::string problem = loadProblem(slice, shared, target);
  // It writes whole granules also where the tensor's rows end within one.
  int64_t granule = target.tma.innerBoxGranularity * 8 / shared.getElementType().getIntOrFloatBitWidth();
  if (problem.empty() && granule > 1 && lastExtentDivisor(slice) % granule != 0)
    return llvm::formatv("the last extent of '{0}' is not known to be a multiple of {1}",
                         tensorOf(slice).getName(), granule)
        .str();
  return problem;
}

class AtomSelector {
public:
  AtomSelector(KernelOp kernel, const Target &target, bool useTma, bool useWgmma)
      : kernel(kernel), target(target), useTma(useTma), useWgmma(useWgmma) {
    kernel.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<GemmOp, GemmAsyncOp>([&](auto gemm) { products.push_back(Product::of(gemm)); })
          .Case([&](CopyOp copy) { copies.push_back(copy); })
          .Case([&](StoreOp store) { stores.push_back(store); })
          .Case([&](RequireOp require) { requirements.push_back(require); })
          .Case([&](RolesOp op) { roles = op; })
          .Case([&](scf::ForOp loop) { hasPipelinedLoop |= loop->hasAttr(TileDialect::pipelineAttrName); });
    });
  }

  LogicalResult run() {
    if (failed(selectProducts()))
      return failure();
    bool specializable = canSpecialize();
    if (failed(selectCopies(specializable)))
      return failure();
    selectStores(roles || specializable);
    return checkInterleaved();
  }

private:
  /// A missed instruction: an error if the author requires it, else a remark if the target has it.
  LogicalResult missed(Operation *op, Requirement what, bool isAvailable, StringRef id,
                       const Twine &message) {
    for (RequireOp require : requirements)
      if (require.getWhat() == what) {
        InFlightDiagnostic diag = op->emitError() << message;
        diag.attachNote(require.getLoc()) << "required here";
        return diag;
      }
    if (isAvailable)
      op->emitRemark() << "[" << id << "] " << message;
    return success();
  }

  /// Why a product cannot be made of wgmma if the kernel has `warps`; empty if it can.
  std::string whyNoWgmma(const Product &product, int64_t warps) {
    return useWgmma ? wgmmaProblem(product, target, warpsAt(product.op, warps)) : "wgmma is switched off";
  }

  LogicalResult selectProducts() {
    if (!kernel.getWarps() && roles)
      kernel.setWarps(llvm::sum_of(llvm::map_range(roles.getBody().getOps<RoleOp>(),
                                                   [](RoleOp role) { return int64_t(role.getWarps()); })));
    int64_t warps = kernel.getWarps() ? kernel.getWarps() : warpsPerWarpgroup * chooseWarpgroups(products);
    const Product *culprit =
        llvm::find_if(products, [&](const Product &p) { return !whyNoWgmma(p, warps).empty(); });
    allWgmma = !products.empty() && culprit == products.end();
    if (!kernel.getWarps())
      kernel.setWarps(allWgmma ? warps : chooseWarps(products, target));
    for (const Product &product : products)
      if (failed(selectProduct(product, allWgmma ? "" : whyNoWgmma(*culprit, warps), &product == culprit)))
        return failure();
    return success();
  }

  /// `problem` is what keeps a product of the kernel, this one if it is the culprit, from wgmma.
  LogicalResult selectProduct(const Product &product, const std::string &problem, bool isCulprit) {
    auto gemm = dyn_cast<GemmOp>(product.op);
    if (!gemm) {
      // What is asynchronous is a choice of the author's, so its neighbours do not matter.
      std::string own = whyNoWgmma(product, kernel.getWarps());
      if (!own.empty())
        return product.op->emitError(
                   "expected a product that wgmma can make because no other matrix instruction is "
                   "asynchronous, but ")
               << own;
      cast<GemmAsyncOp>(product.op).setAtom(MatrixAtom::wgmma);
      return success();
    }
    if (problem.empty()) {
      gemm.setAtom(MatrixAtom::wgmma);
      return success();
    }
    std::string noMma = mmaSyncProblem(product, target, warpsAt(gemm, kernel.getWarps()));
    gemm.setAtom(noMma.empty() ? MatrixAtom::mma_sync : MatrixAtom::fma);
    std::string message = noMma.empty() ? "product uses mma.sync, not wgmma: "
                                        : "product uses multiply-add of single elements, not wgmma: ";
    message += (isCulprit ? "" : "another product of the kernel cannot use it: ") + problem;
    if (!noMma.empty())
      message += "; not mma.sync: " + noMma;
    return missed(gemm, Requirement::wgmma, target.wgmma || !noMma.empty(), "gemm-without-wgmma", message);
  }

  /// The load role issues every copy of the kernel, so all of them must fit the TMA.
  bool canSpecialize() {
    if (roles || !useTma || !allWgmma || !hasPipelinedLoop)
      return false;
    return llvm::all_of(copies, [&](CopyOp copy) {
      auto slice = copy.getSource().getDefiningOp<SliceOp>();
      auto shared = dyn_cast<SharedType>(copy.getDestination().getType());
      return slice && shared && loadProblem(slice, shared, target).empty();
    });
  }

  std::string whyNoTma(SliceOp slice, SharedType shared, bool specializable) {
    if (!useTma)
      return "the TMA is switched off";
    if (std::string problem = loadProblem(slice, shared, target); !problem.empty())
      return problem;
    if (specializable)
      return "";
    if (roles)
      return "a role loads through the TMA with an asynchronous copy and a ring";
    return allWgmma && hasPipelinedLoop ? "other copies of the kernel cannot use it"
                                        : "the kernel is not warp-specialised";
  }

  LogicalResult selectCopies(bool specializable) {
    for (CopyOp copy : copies) {
      copy.setAtom(CopyAtom::simt);
      auto slice = copy.getSource().getDefiningOp<SliceOp>();
      auto shared = dyn_cast<SharedType>(copy.getDestination().getType());
      if (!slice || !shared) {
        if (failed(selectCopyOut(copy)))
          return failure();
        continue;
      }
      std::string problem = whyNoTma(slice, shared, specializable);
      if (problem.empty())
        copy.setAtom(CopyAtom::tma);
      else if (failed(missed(copy, Requirement::tma, target.tma.available, "copy-without-tma",
                             "copy uses ordinary loads, not the TMA: " + problem)))
        return failure();
    }
    return success();
  }

  /// From shared memory to a slice: a role may leave it to the TMA.
  LogicalResult selectCopyOut(CopyOp copy) {
    auto shared = dyn_cast<SharedType>(copy.getSource().getType());
    auto slice = copy.getDestination().getDefiningOp<SliceOp>();
    if (!shared || !slice || !copy->getParentOfType<RoleOp>())
      return success();
    std::string problem = !useTma                  ? "the TMA is switched off"
                          : shared.getTransposed() ? "the tile is transposed"
                                                   : storeProblem(shared, slice, target);
    if (!problem.empty())
      return missed(copy, Requirement::tma, target.tma.available, "copy-without-tma",
                    "copy uses ordinary stores, not the TMA: " + problem);
    copy.setAtom(CopyAtom::tma);
    return success();
  }

  /// A store through the TMA needs 16-bit elements in the accumulator's layout and whole panels.
  void selectStores(bool allowTma) {
    for (StoreOp store : stores) {
      auto slice = store.getDestination().getDefiningOp<SliceOp>();
      auto value = cast<RankedTensorType>(store.getValue().getType());
      store.setAtom(CopyAtom::simt);
      if (!slice || !allowTma || !useTma || value.getRank() != 2 ||
          value.getElementType().getIntOrFloatBitWidth() != 16)
        continue;
      int64_t warpgroups = warpsAt(store, kernel.getWarps()) / warpsPerWarpgroup;
      auto panel = SharedType::get(kernel.getContext(), {panelRows, panelColumns}, value.getElementType());
      bool wholePanels = warpgroups > 0 && value.getDimSize(0) % (panelRows * warpgroups) == 0 &&
                         value.getDimSize(1) % panelColumns == 0 &&
                         hasRowsAlongLastAxis(slice, value.getShape());
      if (!wholePanels || !tmaProblem(slice, panel, target).empty())
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
      int64_t count = value.getNumElements() / (warpgroups * panelRows * panelColumns);
      int64_t room = freeSharedBytes() / (warpgroups * panelRows * panelColumns * 2);
      int64_t least = std::min<int64_t>(count, 2);
      if (roles && room < least) { // and nothing gives way: stages are the program's
        int64_t wanted = least * warpgroups * panelRows * panelColumns * 2;
        store.emitRemark() << "[store-without-tma] store uses ordinary stores, not the TMA: that takes "
                           << wanted << " bytes of shared memory, but the roles' buffers leave "
                           << std::max<int64_t>(freeSharedBytes(), 0);
        continue;
      }
      int64_t buffers = std::clamp(room, least, count);
      SmallVector<int64_t> panels = {warpgroups, buffers, panelRows, panelColumns};
      auto staging = SharedType::get(kernel.getContext(), panels, value.getElementType());
      auto buffer = AllocSharedOp::create(builder, store.getLoc(), staging,
                                          (tensorOf(slice).getName() + ".staging").str(), IntegerAttr());
      store.setAtom(CopyAtom::tma);
      store.getStagingMutable().assign(buffer);
    }
  }

  /// What is no copy by the TMA would take a tensor's elements for being in order.
  LogicalResult checkInterleaved() {
    WalkResult walked = kernel.walk([&](SliceOp slice) {
      if (elementOrder(slice) == ElementOrder::natural)
        return WalkResult::advance();
      for (Operation *user : slice->getUsers()) {
        auto copy = dyn_cast<CopyOp>(user);
        if (isa<CopyAsyncOp>(user) || (copy && copy.getAtom() == CopyAtom::tma))
          continue;
        user->emitError() << "expected the TMA to move elements of '" << tensorOf(slice).getName()
                          << "' because they are interleaved, but this is another access; copy whole tiles "
                             "of shared memory in roles";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  /// Shared memory that the kernel's buffers, with a slot for every stage, leave.
  int64_t freeSharedBytes() {
    constexpr int64_t barriers = 1024;
    int64_t free = int64_t(target.sharedBytesOfBlock(unsigned(kernel.getResidents()))) - barriers;
    kernel.walk([&](AllocSharedOp buffer) {
      int64_t slots = 1;
      for (CopyOp copy : copies)
        if (copy.getDestination() == buffer.getBuffer())
          if (auto pipeline = copy->getParentOp()->getAttrOfType<PipelineAttr>(TileDialect::pipelineAttrName))
            slots = pipeline.getStages();
      free -= slots * sizeInBytes(cast<SharedType>(buffer.getType()));
    });
    return free;
  }

  KernelOp kernel;
  const Target &target;
  bool useTma, useWgmma;
  RolesOp roles;
  bool hasPipelinedLoop = false, allWgmma = false;
  SmallVector<Product> products;
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
