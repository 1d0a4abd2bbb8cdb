// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards every product has its instruction, and the kernel its number of warps. Each choice below the
/// target's best leaves a remark with its reason.

#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/IndependentSums.h"
#include "compiler/analysis/Positions.h"
#include "compiler/analysis/ProductRegisters.h"
#include "compiler/analysis/Requirements.h"
#include "compiler/analysis/TensorMemory.h"
#include "compiler/analysis/TmaAccess.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/StartedProducts.h"
#include "compiler/transforms/WrittenRoles.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/MmaAtoms.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace tlc::tile {
#define GEN_PASS_DEF_SELECTPRODUCTS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Accumulator registers per thread above which a product is given more warpgroups.
constexpr int64_t maxAccumulatorRegisters = 200;

/// Columns of a sum in tensor memory above which two warpgroups load a part each.
constexpr int64_t maxLoadedColumns = 128;

struct Product {
  Operation *op;
  Value a, b, metadata;          ///< no metadata of a left factor that is not sparse
  ElementType left, right, sums; ///< elements of the factors and of the accumulator
  int64_t m, n, k;
  tlc::WarpPolicy policy;

  static Product of(ProductOpInterface gemm) {
    auto acc = cast<RankedTensorType>(gemm.getAcc().getType());
    ArrayRef<int64_t> b = cast<SharedType>(gemm.getB().getType()).getShape();
    auto elementOf = [](Value value) { return *toElementType(elementTypeOf(value.getType())); };
    return {gemm,
            gemm.getA(),
            gemm.getB(),
            gemm.getMetadata(),
            elementOf(gemm.getA()),
            elementOf(gemm.getB()),
            elementOf(gemm.getAcc()),
            acc.getDimSize(0),
            acc.getDimSize(1),
            b[b.size() - 2],
            policyOf(gemm.getPolicy())};
  }
};

/// Why wgmma cannot read this operand, of which each warpgroup has all, or `part` along the other axis; empty
/// if it can. `kAxis` is in the view's axes.
std::string wgmmaOperandProblem(Value operand, int kAxis, std::optional<int64_t> part,
                                int64_t depthBytes = matrixDepthBytes) {
  auto shared = dyn_cast<TypedValue<SharedType>>(operand);
  if (!shared)
    return kAxis == 1 ? "" : "a transposed operand must be in shared memory";
  int axis = shared.getType().getTransposed() ? 1 - kAxis : kAxis;
  Result<WgmmaOperand> described = wgmmaOperand(preferredLayout(shared), axis, {.depthBytes = depthBytes});
  if (!described)
    return described.error().message;
  if (!part || described->hasPartsOf(*part))
    return "";
  return llvm::formatv("a warpgroup's {0} columns end within a panel of {1}", *part,
                       described->layout.panelExtent())
      .str();
}

/// The instruction of that kind for the product's types, or null.
const MmaAtom *findAtom(const Product &product, const Target &target, MmaKind kind) {
  return findMmaAtom(target, kind, product.left, product.right, product.sums);
}

/// Why this product cannot be made of wgmma by `warps` of a block; empty if it can.
std::string wgmmaProblem(const Product &product, const Target &target, int64_t warps, BlockSize block) {
  auto [op, a, b, metadata, left, right, sums, m, n, k, policy] = product;
  MmaKind kind = metadata ? MmaKind::sparseWgmma : MmaKind::wgmma;
  const MmaAtom *atom = findAtom(product, target, kind);
  if (!atom)
    return describeMissing(target, kind, left, right, sums);
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
  if (std::string problem = wgmmaOperandProblem(a, 1, atom->m); !problem.empty())
    return problem;
  std::optional<int64_t> part;
  if (grid.alongN > 1)
    part = n / grid.alongN;
  if (std::string problem = wgmmaOperandProblem(b, 0, part, int64_t(atom->k) * bitsOf(right) / 8);
      !problem.empty())
    return problem;
  return registerProblem(op, policy, warps, block, target);
}

std::string mmaSyncProblem(const Product &product, const Target &target, int64_t warps) {
  auto [op, a, b, metadata, left, right, sums, m, n, k, policy] = product;
  if (metadata)
    return "its left factor is sparse";
  const MmaAtom *atom = findAtom(product, target, MmaKind::mmaSync);
  if (!atom)
    return describeMissing(target, MmaKind::mmaSync, left, right, sums);
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
    int64_t blocks = std::max<int64_t>(1, product.m / wgmmaRows);
    int64_t wanted = blocks % 3 == 0 ? 3 : blocks % 2 == 0 ? 2 : 1;
    while (product.m * product.n / (threadsPerWarpgroup * wanted) > maxAccumulatorRegisters && wanted < 4)
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

class ProductSelector {
public:
  ProductSelector(KernelOp kernel, const Target &target, bool useWgmma, bool useTcgen05, bool factors)
      : kernel(kernel), target(target), useWgmma(useWgmma), useTcgen05(useTcgen05), factors(factors) {
    if (target.tcgen05 && useTcgen05 && hasRoles(kernel)) {
      whyNotStarted = startedProductsProblem(kernel, target);
      if (whyNotStarted.empty())
        startInTensorMemory(kernel, target);
    }
    if (!target.wgmma)
      completeAtOnce(kernel);
    kernel.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([](GemmInPlaceOp) {}) // its instruction is the only one
          .Case([&](ProductOpInterface product) { products.push_back(Product::of(product)); })
          .Case([&](RolesOp op) { roles = op; });
    });
  }

  LogicalResult run() {
    FailureOr<WrittenRoles> written = findWrittenRoles(kernel);
    if (failed(written) || failed(checkTensorMemory(kernel, target)) || failed(checkRequirements()))
      return failure();
    if (target.tcgen05)
      selectTcgen05(*written);
    return selectProducts();
  }

private:
  /// No target has both instructions, so that what a product misses is missing for either requirement.
  LogicalResult checkRequirements() {
    for (auto [what, has] :
         {std::pair(Requirement::wgmma, target.wgmma), {Requirement::tcgen05, target.tcgen05}})
      if (RequireOp require = findRequirement(kernel, what); require && !has)
        return require.emitError() << "products of " << stringifyRequirement(what) << " are required, which "
                                   << target.name << " does not have";
    return success();
  }

  static bool hasRoles(KernelOp kernel) {
    return kernel.walk([](RolesOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  /// Where no product with sums in registers is asynchronous, one that an author starts and awaits is
  /// complete at once.
  static void completeAtOnce(KernelOp kernel) {
    kernel.walk([](GemmAsyncOp started) {
      if (started.getMetadata()) // an error: no other instruction takes a sparse factor
        return;
      OpBuilder builder(started);
      auto product =
          GemmOp::create(builder, started.getLoc(), started.getA(), started.getB(), started.getAcc(),
                         /*metadata=*/Value(), started.getPolicy(), MatrixAtomAttr());
      started.getResult().replaceAllUsesWith(product.getResult());
      started.erase();
    });
    kernel.walk([](GemmWaitOp wait) {
      if (wait.getAcc().getDefiningOp<GemmAsyncOp>())
        return;
      wait.getResult().replaceAllUsesWith(wait.getAcc());
      wait.erase();
    });
  }

  /// Sums that can lie in tensor memory do, as long as they fit there. A warpgroup loads their rows, or two
  /// if these are long.
  void selectTcgen05(const WrittenRoles &written) {
    // Rows that warps decide on lie in one warp each.
    const bool decidesByWarp =
        kernel.walk([](AnyInWarpOp) { return WalkResult::interrupt(); }).wasInterrupted();
    int64_t warps = warpsPerWarpgroup;
    for (const Product &product : products)
      if (isa<GemmOp>(product.op) && product.n > maxLoadedColumns && !decidesByWarp)
        warps = 2 * warpsPerWarpgroup;
    if (kernel.getWarps())
      warps = kernel.getWarps();
    placeOperands(warps);
    auto *other = llvm::find_if(products, [&](const Product &product) { return !fits(product); });
    if (decidesByWarp && other != products.end())
      refuse("each warp decides on its rows, which the " + describeStatement(other->op) +
             " distributes otherwise: " + whyNoTcgen05[other->op]);
    for (const Product &product : products)
      if (fits(product))
        cast<GemmOp>(product.op).setAtom(MatrixAtom::tcgen05);
    constexpr int64_t otherRoles = 2 * warpsPerWarpgroup; // a warpgroup each, if threads make loads
    const int64_t most = program::maxWarps(target, kernel.getResidents());
    auto canLoad = [&](const Product &product) {
      return !fits(product) || tensorMemoryFragment(product.m, product.n, int(bitsOf(product.sums)), warps);
    };
    const int64_t inAll = warps * rolesOfSums(IndependentSums(kernel)) + written.warps();
    const std::optional<Obstacle> obstacle = findSumObstacle(kernel, written, warps);
    if (inAll + otherRoles > most)
      refuse(llvm::formatv("{0} warps leave no room for roles that load and multiply", inAll));
    else if (obstacle)
      refuse(obstacle->reasonWithPlace());
    else if (warps % warpsPerWarpgroup || !llvm::all_of(products, canLoad))
      refuse(llvm::formatv("{0} warps cannot load its sums", warps));
    if (llvm::any_of(products, [&](const Product &product) { return fits(product); }))
      kernel.setWarps(warps);
    llvm::erase_if(products, [&](const Product &product) { return fits(product); });
  }

  bool fits(Operation *product) const { return whyNoTcgen05.lookup(product).empty(); }
  bool fits(const Product &product) const { return fits(product.op); }

  /// Those that would fit do not for another reason.
  void refuse(const std::string &reason) {
    for (const Product &product : products)
      if (fits(product)) {
        whyNoTcgen05[product.op] = reason;
        product.op->removeAttr(cast<GemmOp>(product.op).getAtomAttrName());
      }
  }

  /// Finds what keeps each product from tcgen05: first places for the sums, then for the left factors.
  void placeOperands(int64_t warps) {
    TensorMemoryRoom room(kernel, target, factors);
    for (const Product &product : products) {
      auto gemm = dyn_cast<GemmOp>(product.op);
      std::string &problem = whyNoTcgen05[product.op];
      problem = !gemm                    ? "it adds in registers"
                : !useTcgen05            ? "tcgen05 is switched off"
                : !whyNotStarted.empty() ? whyNotStarted
                                         : sumInTensorMemoryProblem(gemm, target);
      if (!problem.empty())
        continue;
      if (!room.takeSum(gemm))
        problem =
            llvm::formatv("its sum takes {0} columns of tensor memory, those of other products {1}, and "
                          "there are {2}; smaller tiles take fewer",
                          product.n, room.columns(), room.columnLimit());
    }
    leaveReadFactors(room);
    int64_t bytes = BlockBudget(target, int64_t(kernel.getResidents())).sharedLimit();
    kernel.walk([&](AllocSharedOp buffer) { bytes -= sizeInBytes(buffer.getBuffer().getType()); });
    for (const Product &product : products) {
      if (!fits(product) || !isa<RankedTensorType>(product.a.getType()))
        continue;
      auto gemm = cast<GemmOp>(product.op);
      if (room.placeFactor(gemm, warps, [&](GemmOp other) { return fits(other); }).isTensorMemory)
        continue;
      int64_t staged = product.m * product.k * bitsOf(product.left) / 8;
      if (staged <= bytes) {
        bytes -= staged;
        continue;
      }
      room.returnSum(gemm);
      whyNoTcgen05[product.op] =
          llvm::formatv("{0} bytes of shared memory are left for the {1} of its left factor",
                        std::max<int64_t>(bytes, 0), staged);
    }
    leaveReadFactors(room);
  }

  /// Leaves products to threads whose factors threads read: for another product, which may be one of these.
  void leaveReadFactors(TensorMemoryRoom &room) {
    llvm::SmallPtrSet<Operation *, 8> ahead; // copies of a role that loads
    for (const auto &group : findCopyGroups(kernel, takenPositions(kernel), isLoad).groups)
      for (const GroupedCopy &copy : group->copies)
        ahead.insert(copy.op);
    for (bool changes = true; std::exchange(changes, false);)
      for (const Product &product : products) {
        if (!fits(product))
          continue;
        auto gemm = cast<GemmOp>(product.op);
        std::string problem = factorReadByThreads(
            gemm, [&](GemmOp other) { return fits(other); },
            [&](Operation *copy) { return ahead.contains(copy); });
        if (problem.empty())
          continue;
        room.returnSum(gemm);
        whyNoTcgen05[gemm] = problem;
        changes = true;
      }
  }

  BlockSize blockOf(int64_t warps) { return {warps, int64_t(kernel.getResidents())}; }

  /// Why a product cannot be made of wgmma if the kernel has `warps`; empty if it can.
  std::string whyNoWgmma(const Product &product, int64_t warps) {
    if (!useWgmma)
      return "wgmma is switched off";
    std::string problem = wgmmaProblem(product, target, warpsAt(product.op, warps), blockOf(warps));
    return problem.empty() || wouldShareColumns(product, warps) ? "" : problem;
  }

  /// Whether warpgroups that cannot share the rows of the product can share its columns.
  bool wouldShareColumns(const Product &product, int64_t warps) {
    int64_t ofProduct = warpsAt(product.op, warps);
    if (product.policy != tlc::WarpPolicy::fullRow || ofProduct % warpsPerWarpgroup != 0 ||
        product.m % (ofProduct / warpsPerWarpgroup * wgmmaRows) == 0)
      return false;
    Product byColumns = product;
    byColumns.policy = tlc::WarpPolicy::fullColumn;
    return wgmmaProblem(byColumns, target, ofProduct, blockOf(warps)).empty();
  }

  template <class Op> void setWgmma(Op gemm, const Product &product) {
    gemm.setAtom(MatrixAtom::wgmma);
    if (wouldShareColumns(product, kernel.getWarps()))
      gemm.setPolicy(WarpPolicy::fullColumn);
  }

  LogicalResult selectProducts() {
    if (!kernel.getWarps() && roles)
      kernel.setWarps(llvm::sum_of(llvm::map_range(roles.getBody().getOps<RoleOp>(),
                                                   [](RoleOp role) { return int64_t(role.getWarps()); })));
    int64_t warps = kernel.getWarps() ? kernel.getWarps() : warpsPerWarpgroup * chooseWarpgroups(products);
    if (!kernel.getWarps())
      kernel.setWarps(!products.empty() && haveInstructions(warps) ? warps : chooseWarps(products, target));
    for (const Product &product : products) {
      std::string problem = whyNoWgmma(product, warps);
      if (problem.empty()) // though for others the kernel may have fewer warps
        problem = whyNoWgmma(product, kernel.getWarps());
      if (failed(selectProduct(product, problem.empty() ? "" : problem + cureFor(product, warps))))
        return failure();
    }
    return success();
  }

  /// Whether a matrix instruction can make each product, if the kernel has `warps`.
  bool haveInstructions(int64_t warps) {
    return llvm::all_of(products, [&](const Product &product) {
      return whyNoWgmma(product, warps).empty() ||
             mmaSyncProblem(product, target, warpsAt(product.op, warps)).empty();
    });
  }

  /// "; WarpPolicy::square or k.warps(4) would do": what changes of the author's make wgmma possible for a
  /// product that could not be made of it; empty if none of these does.
  std::string cureFor(const Product &product, int64_t warps) {
    SmallVector<std::string> cures;
    constexpr std::pair<tlc::WarpPolicy, StringLiteral> policies[] = {
        {tlc::WarpPolicy::fullRow, "WarpPolicy::fullRow"},
        {tlc::WarpPolicy::fullColumn, "WarpPolicy::fullColumn"},
        {tlc::WarpPolicy::square, "WarpPolicy::square"}};
    Product changed = product;
    for (auto [policy, name] : policies) {
      changed.policy = policy;
      if (isa<GemmOp>(product.op) && whyNoWgmma(changed, warps).empty())
        cures.push_back(name.str());
    }
    auto role = product.op->getParentOfType<RoleOp>();
    constexpr int64_t mostWarps = 4 * warpsPerWarpgroup;
    for (int64_t count = warpsPerWarpgroup; count <= mostWarps; count += warpsPerWarpgroup)
      if (count != warpsAt(product.op, warps) && wouldDo(count, role)) {
        cures.push_back(llvm::formatv(role ? ".warps = {0} of the role" : "k.warps({0})", count).str());
        break;
      }
    BlockSize fewer = blockOf(warps);
    while (--fewer.residents >= 1)
      if (useWgmma && wgmmaProblem(product, target, warpsAt(product.op, warps), fewer).empty()) {
        cures.push_back(llvm::formatv("k.residents({0})", fewer.residents));
        break;
      }
    if (cures.empty())
      return "";
    std::string last = cures.pop_back_val();
    return "; " + llvm::join(cures, ", ") + (cures.empty() ? "" : " or ") + last + " would do";
  }

  /// Whether all products of the role, or of a kernel without roles, could be made of wgmma by so many warps,
  /// with accumulators that fit.
  bool wouldDo(int64_t warps, RoleOp role) {
    int64_t ofBlock = role ? int64_t(kernel.getWarps()) - int64_t(role.getWarps()) + warps : warps;
    return llvm::all_of(products, [&](const Product &product) {
      return product.op->getParentOfType<RoleOp>() != role ||
             (useWgmma && wgmmaProblem(product, target, warps, blockOf(ofBlock)).empty() &&
              product.m * product.n / (warps * lanesPerWarp) <= maxAccumulatorRegisters);
    });
  }

  /// `problem` is what keeps this product from wgmma; empty if nothing does.
  LogicalResult selectProduct(const Product &product, const std::string &problem) {
    auto gemm = dyn_cast<GemmOp>(product.op);
    if (!gemm) {
      // What is asynchronous is a choice of the author's, so its neighbours do not matter.
      std::string own = whyNoWgmma(product, kernel.getWarps());
      if (!own.empty())
        return product.op->emitError(
                   "expected a product that wgmma can make because no other matrix instruction is "
                   "asynchronous, but ")
               << own << cureFor(product, kernel.getWarps());
      setWgmma(cast<GemmAsyncOp>(product.op), product);
      return success();
    }
    if (product.metadata && !problem.empty())
      return gemm.emitError("expected a product that wgmma can make because its left factor is sparse, but ")
             << problem;
    if (problem.empty()) {
      setWgmma(gemm, product);
      return success();
    }
    std::string noMma = mmaSyncProblem(product, target, warpsAt(gemm, kernel.getWarps()));
    gemm.setAtom(noMma.empty() ? MatrixAtom::mma_sync : MatrixAtom::fma);
    StringRef best = target.tcgen05 ? "tcgen05" : "wgmma";
    std::string message =
        ("product uses " + StringRef(noMma.empty() ? "mma.sync" : "multiply-add of single elements") +
         ", not " + best + ": ")
            .str();
    message += target.tcgen05 ? whyNoTcgen05.lookup(gemm) : problem;
    if (!noMma.empty()) {
      message += "; not mma.sync: " + noMma;
      if (isa<RankedTensorType>(gemm.getA().getType())) {
        message += "; the left factor is copied through shared memory";
        stageLeftFactor(gemm);
      }
    }
    return reportMissed(gemm, target.tcgen05 ? Requirement::tcgen05 : Requirement::wgmma,
                        target.wgmma || target.tcgen05 || !noMma.empty(), RemarkId::gemmWithoutWgmma,
                        message);
  }

  /// Multiply-adds take rows and columns from shared memory, as threads need them.
  void stageLeftFactor(GemmOp gemm) {
    auto factor = cast<RankedTensorType>(gemm.getA().getType());
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    auto buffer = AllocSharedOp::create(
        builder, gemm.getLoc(),
        SharedType::get(kernel.getContext(), factor.getShape(), factor.getElementType()), "factor.staging",
        IntegerAttr());
    builder.setInsertionPoint(gemm);
    StoreOp::create(builder, gemm.getLoc(), gemm.getA(), buffer, /*staging=*/Value(),
                    /*atom=*/CopyAtomAttr());
    gemm.getAMutable().assign(buffer);
  }

  KernelOp kernel;
  const Target &target;
  bool useWgmma, useTcgen05;
  bool factors;              ///< in tensor memory
  std::string whyNotStarted; ///< what keeps products of roles from tcgen05
  llvm::SmallDenseMap<Operation *, std::string> whyNoTcgen05;
  RolesOp roles;
  SmallVector<Product> products;
};

struct SelectProducts : impl::SelectProductsBase<SelectProducts> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto target = kernel->getParentOfType<ModuleOp>()->getAttrOfType<program::TargetAttr>(
        program::ProgramDialect::targetAttrName);
    if (!target) {
      kernel.emitError("the module has no 'program.target'");
      return signalPassFailure();
    }
    if (failed(ProductSelector(kernel, target.getTarget(), wgmma, tcgen05, factors).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
