// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values that hold the same sum, one after the other, are one tile: a product changes it in place, what else
/// enters it is stored, and who computes with it loads it.
#include "compiler/transforms/StartedProducts.h"

#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/TensorMemory.h"
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/TensorColumns.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {

bool isProduct(Operation *op) { return isa<GemmOp, GemmAsyncOp>(op); }

TypedValue<RankedTensorType> accumulatorOf(Operation *op) {
  return cast<TypedValue<RankedTensorType>>(cast<ProductOpInterface>(op).getAcc());
}

/// The values of a role that hold its sums.
class Sums {
public:
  explicit Sums(RoleOp role) {
    role.walk([&](Operation *op) {
      if (isProduct(op))
        joinKept(op->getResult(0), accumulatorOf(op));
    });
    // What a sum passes through holds it, too.
    for (bool grows = true; grows;) {
      grows = false;
      role.walk([&](Operation *op) { grows |= follow(op); });
    }
  }

  bool holds(Value value) const { return sums.findLeader(value.getAsOpaquePointer()) != sums.member_end(); }
  void *leaderOf(Value value) const { return *sums.findLeader(value.getAsOpaquePointer()); }

  /// Whether the operation makes the value of a sum that its tile has already.
  static bool keeps(Value value) {
    Operation *op = value.getDefiningOp();
    return !op || isProduct(op) || isa<GemmWaitOp, scf::ForOp, scf::IfOp>(op);
  }

private:
  bool join(Value one, Value other) {
    void *a = one.getAsOpaquePointer(), *b = other.getAsOpaquePointer();
    if (holds(one) && holds(other) && sums.isEquivalent(a, b))
      return false;
    sums.unionSets(a, b);
    return true;
  }
  /// What enters a sum may enter others, too, and is none of them.
  bool joinKept(Value sum, Value other) { return join(sum, keeps(other) ? other : sum); }

  bool follow(Operation *op) {
    bool grows = false;
    if (auto wait = dyn_cast<GemmWaitOp>(op))
      if (holds(wait.getAcc()) || holds(wait.getResult()))
        grows |= joinKept(wait.getResult(), wait.getAcc());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [init, argument, yielded, result] : llvm::zip_equal(
               loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
        if (holds(argument) || holds(yielded) || holds(result)) {
          grows |= join(argument, result);
          grows |= joinKept(argument, yielded);
          grows |= joinKept(argument, init);
        }
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch.elseBlock())
      for (auto [first, second, result] : llvm::zip_equal(
               branch.thenYield().getOperands(), branch.elseYield().getOperands(), branch.getResults()))
        if (holds(first) || holds(second) || holds(result)) {
          grows |= joinKept(result, first);
          grows |= joinKept(result, second);
        }
    return grows;
  }

  llvm::EquivalenceClasses<void *> sums;
};

/// The operands by which an operation passes a sum on, instead of computing with it.
bool passesOn(OpOperand &use, const Sums &sums) {
  Operation *op = use.getOwner();
  if (isProduct(op))
    return accumulatorOf(op) == use.get() && use.getOperandNumber() == 2;
  if (isa<GemmWaitOp>(op))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return use.getOperandNumber() >= loop.getNumControlOperands() &&
           sums.holds(loop.getTiedLoopRegionIterArg(&use));
  return isa<scf::YieldOp>(op) && sums.holds(op->getParentOp()->getResult(use.getOperandNumber()));
}

/// Why a value of a sum cannot be the tile's: another operation changes the tile while the value is needed.
std::string valueProblem(Value value, const Sums &sums) {
  int64_t passed = 0;
  for (OpOperand &use : value.getUses())
    passed += passesOn(use, sums);
  bool branches = llvm::all_of(value.getUsers(), llvm::IsaPred<scf::YieldOp>);
  return Sums::keeps(value) && passed > 1 && !branches ? "two operations continue one sum" : "";
}

/// Why the operation's results cannot be tiles: two would be one.
std::string resultsProblem(Operation *op, const Sums &sums) {
  llvm::SmallPtrSet<void *, 4> tiles;
  for (Value result : op->getResults())
    if (sums.holds(result) && !tiles.insert(sums.leaderOf(result)).second)
      return "two values of a loop or a branch are one sum";
  return "";
}

int64_t columnsOf(RankedTensorType type) {
  return type.getDimSize(1) * int64_t(type.getElementTypeBitWidth()) / registerBits;
}

std::string problemOf(Operation *op, RoleOp role, const Target &target) {
  auto product = cast<ProductOpInterface>(op);
  if (product.getMetadata())
    return "its left factor is sparse";
  if (std::string problem = tensorMemoryProductProblem(product, target); !problem.empty())
    return problem;
  RankedTensorType type = accumulatorOf(op).getType();
  const int bits = int(type.getElementTypeBitWidth());
  if (!tensorMemoryFragment(type.getDimSize(0), type.getDimSize(1), bits, int64_t(role.getWarps())))
    return llvm::formatv("{0} warps of role '{1}' cannot load its sums", role.getWarps(), role.getName());
  // Two warpgroups share rows.
  if (role.getWarps() > warpsPerWarpgroup &&
      role.walk([](AnyInWarpOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return llvm::formatv("each warp decides on its rows, of which {0} warps of role '{1}' share the columns",
                         role.getWarps(), role.getName());
  return "";
}

/// Turns the products of a role.
class RoleRewriter {
public:
  /// `factors`: whether left factors in registers go to tensor memory.
  RoleRewriter(RoleOp role, KernelOp kernel, bool factors)
      : role(role), kernel(kernel), factors(factors), sums(role) {}

  void run() {
    SmallVector<Operation *> products, waits;
    role.walk([&](Operation *op) {
      if (isProduct(op))
        products.push_back(op);
      else if (isa<GemmWaitOp>(op))
        waits.push_back(op);
    });
    if (products.empty())
      return;
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    done = AllocBarrierOp::create(top, role.getLoc(), role.getName().str() + ".products", 1, IntegerAttr());
    ImplicitLocOpBuilder begin(role.getLoc(), OpBuilder::atBlockBegin(&role.getBody().front()));
    Value zero = arith::ConstantIndexOp::create(begin, 0);
    phases = VariableOp::create(begin, VariableType::get(begin.getContext(), begin.getIndexType()), zero,
                                StringAttr());
    loadUses();
    storeEntries();
    for (Operation *op : waits) {
      ImplicitLocOpBuilder builder(op->getLoc(), op);
      awaitAll(builder);
    }
    for (Operation *op : products)
      start(op);
    for (Operation *op : waits)
      cast<GemmWaitOp>(op).getResult().replaceAllUsesWith(cast<GemmWaitOp>(op).getAcc());
    for (Operation *op : products)
      op->getResult(0).replaceAllUsesWith(accumulatorOf(op));
    for (Operation *op : llvm::concat<Operation *>(waits, products))
      op->erase();
  }

private:
  Value tileOf(Value value) {
    Value &tile = tiles[sums.leaderOf(value)];
    if (!tile) {
      auto type = cast<RankedTensorType>(value.getType());
      OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
      std::string name =
          (role.getName() + ".sum" + (tiles.size() == 1 ? Twine() : Twine(tiles.size()))).str();
      tile = AllocTensorMemoryOp::create(
          top, value.getLoc(),
          TensorMemoryType::get(kernel.getContext(), type.getShape(), type.getElementType()),
          top.getStringAttr(name), StringAttr(), IntegerAttr());
    }
    return tile;
  }

  /// Who computes with a sum loads it where it is complete: after the wait, or where a loop or a branch
  /// begins or ends.
  void loadUses() {
    SmallVector<Value> values;
    auto add = [&](Value value) {
      if (sums.holds(value) && Sums::keeps(value))
        values.push_back(value);
    };
    role.walk([&](Operation *op) {
      llvm::for_each(op->getResults(), add);
      if (auto loop = dyn_cast<scf::ForOp>(op))
        llvm::for_each(loop.getRegionIterArgs(), add);
    });
    for (Value value : values) {
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : value.getUses())
        if (!passesOn(use, sums))
          uses.push_back(&use);
      if (uses.empty())
        continue;
      OpBuilder builder(kernel.getContext());
      builder.setInsertionPointAfterValue(value);
      auto type = cast<RankedTensorType>(value.getType());
      if (Operation *op = value.getDefiningOp(); op && isa<GemmOp>(op)) // complete when it is done
        loadsAfter[op] = uses;
      else {
        Value loaded = LoadOp::create(builder, value.getLoc(), type, tileOf(value));
        for (OpOperand *use : uses)
          use->set(loaded);
      }
    }
  }

  /// What enters a sum without being it already is stored, unless a product overwrites zeros.
  void storeEntries() {
    SmallVector<OpOperand *> entries;
    role.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands()) {
        Value value = operand.get();
        if (isa<RankedTensorType>(value.getType()) && passesOn(operand, sums) && !Sums::keeps(value))
          entries.push_back(&operand);
      }
    });
    for (OpOperand *entry : entries) {
      Operation *op = entry->getOwner();
      if (isProduct(op) && isZero(entry->get()))
        continue;
      Value sum = isa<scf::YieldOp>(op) ? op->getParentOp()->getResult(entry->getOperandNumber())
                  : isa<scf::ForOp>(op) ? Value(cast<scf::ForOp>(op).getTiedLoopRegionIterArg(entry))
                                        : Value(op->getResult(0));
      OpBuilder builder(op);
      StoreOp::create(builder, op->getLoc(), entry->get(), tileOf(sum), /*staging=*/Value(),
                      /*atom=*/CopyAtomAttr());
    }
  }

  /// To tensor memory, if all factors fit there beside the sums, otherwise to shared memory.
  Value stageLeftFactor(Operation *op, TypedValue<RankedTensorType> factor, OpBuilder &builder) {
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    RankedTensorType type = factor.getType();
    const std::string name = role.getName().str() + ".factor";
    Value buffer;
    if (factors)
      buffer = AllocTensorMemoryOp::create(
          top, op->getLoc(),
          TensorMemoryType::get(kernel.getContext(), type.getShape(), type.getElementType()),
          top.getStringAttr(name), StringAttr(), IntegerAttr());
    else
      buffer = AllocSharedOp::create(
          top, op->getLoc(), SharedType::get(kernel.getContext(), type.getShape(), type.getElementType()),
          name, IntegerAttr());
    StoreOp::create(builder, op->getLoc(), factor, buffer, /*staging=*/Value(), /*atom=*/CopyAtomAttr());
    return buffer;
  }

  void start(Operation *op) {
    auto product = cast<ProductOpInterface>(op);
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    Value left = product.getA();
    if (auto factor = dyn_cast<TypedValue<RankedTensorType>>(left))
      left = stageLeftFactor(op, factor, builder);
    const bool adds = Sums::keeps(product.getAcc()) || !isZero(product.getAcc());
    Value accumulate = arith::ConstantOp::create(builder, builder.getBoolAttr(adds));
    Value tile = tileOf(op->getResult(0));
    GemmInPlaceOp::create(builder, left, product.getB(), tile, accumulate);
    if (!isa<GemmOp>(op))
      return;
    awaitAll(builder);
    if (auto uses = loadsAfter.find(op); uses != loadsAfter.end()) {
      Value loaded = LoadOp::create(builder, cast<RankedTensorType>(op->getResult(0).getType()), tile);
      for (OpOperand *use : uses->second)
        use->set(loaded);
    }
  }

  /// The barrier gets one arrival when all products are complete. All warps have seen the phase before when
  /// it begins: one that came late would take it for the one before that.
  void awaitAll(ImplicitLocOpBuilder &builder) {
    SyncOp::create(builder);
    ArriveOp::create(builder, done, /*after_products=*/true);
    Value phase = ReadOp::create(builder, builder.getIndexType(), phases);
    WaitOp::create(builder, done, phase);
    Value next = arith::AddIOp::create(builder, phase, arith::ConstantIndexOp::create(builder, 1));
    WriteOp::create(builder, next, phases);
  }

  RoleOp role;
  KernelOp kernel;
  const bool factors;
  Sums sums;
  Value done;   ///< a phase for each wait
  Value phases; ///< so far
  llvm::MapVector<void *, Value> tiles;
  llvm::DenseMap<Operation *, SmallVector<OpOperand *>> loadsAfter;
};

/// What the products of a kernel's roles take, and the first thing that keeps them from tcgen05.
struct Needs {
  TensorColumns sums, operands;        ///< of tensor memory: of the sums, and of these and the left factors
  int64_t shared = 0, factorBytes = 0; ///< bytes of shared memory
  int64_t products = 0;
  std::string problem;
};

Needs needsOf(KernelOp kernel, const Target &target) {
  Needs needs;
  int64_t firstWarp = 0;
  kernel.walk([&](AllocSharedOp buffer) { needs.shared += sizeInBytes(buffer.getBuffer().getType()); });
  kernel.walk([&](RoleOp role) {
    Sums sums(role);
    llvm::SmallDenseMap<void *, size_t> tiles;
    role.walk([&](Operation *op) {
      auto check = [&](Value value) {
        if (needs.problem.empty() && sums.holds(value))
          needs.problem = valueProblem(value, sums);
      };
      llvm::for_each(op->getResults(), check);
      if (auto loop = dyn_cast<scf::ForOp>(op))
        llvm::for_each(loop.getRegionIterArgs(), check);
      if (needs.problem.empty())
        needs.problem = resultsProblem(op, sums);
      if (!isProduct(op))
        return;
      ++needs.products;
      if (needs.problem.empty())
        needs.problem = problemOf(op, role, target);
      if (needs.problem.empty() && firstWarp % warpsPerWarpgroup != 0)
        needs.problem = llvm::formatv("role '{0}' begins within a warpgroup", role.getName());
      auto sum = cast<RankedTensorType>(op->getResult(0).getType());
      auto [tile, isNew] = tiles.try_emplace(sums.leaderOf(op->getResult(0)));
      if (isNew) {
        needs.sums.add(sum.getDimSize(0), columnsOf(sum));
        tile->second = needs.operands.add(sum.getDimSize(0), columnsOf(sum));
      }
      if (auto factor = dyn_cast<RankedTensorType>(cast<ProductOpInterface>(op).getA().getType())) {
        needs.operands.joinLanes(needs.operands.add(factor.getDimSize(0), columnsOf(factor)), tile->second);
        needs.factorBytes += factor.getNumElements() * int64_t(factor.getElementTypeBitWidth()) / 8;
      }
    });
    firstWarp += int64_t(role.getWarps());
  });
  return needs;
}

bool haveFactorsColumns(const Needs &needs, const BlockBudget &block) {
  return needs.operands.used() <= block.columnLimit();
}

} // namespace

std::string tile::startedProductsProblem(KernelOp kernel, const Target &target) {
  if (!kernel.getOps<AllocTensorMemoryOp>().empty())
    return "the kernel has tensor memory of its own";
  const Needs needs = needsOf(kernel, target);
  const BlockBudget block(target, int64_t(kernel.getResidents()));
  if (!needs.problem.empty())
    return needs.problem;
  if (needs.products == 0)
    return "the kernel synchronises by hand";
  if (const int64_t columns = needs.sums.used(); columns > block.columnLimit())
    return llvm::formatv("its sums take {0} columns of tensor memory, of which there are {1}", columns,
                         block.columnLimit());
  if (!haveFactorsColumns(needs, block) && needs.shared + needs.factorBytes > block.sharedLimit())
    return llvm::formatv("with its left factors it takes {0} bytes of shared memory, of which there are {1}",
                         needs.shared + needs.factorBytes, block.sharedLimit());
  return "";
}

void tile::startInTensorMemory(KernelOp kernel, const Target &target) {
  const bool factors =
      haveFactorsColumns(needsOf(kernel, target), BlockBudget(target, int64_t(kernel.getResidents())));
  SmallVector<RoleOp> roles;
  kernel.walk([&](RoleOp role) { roles.push_back(role); });
  for (RoleOp role : roles)
    RoleRewriter(role, kernel, factors).run();
}
