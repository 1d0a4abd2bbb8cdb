// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops, branches, roles.
#include "compiler/analysis/PositionRanges.h"
#include "compiler/lowering/TileToSimt/Lowering.h"
#include "dialects/layout/StockLayouts.h"
#include "mlir/IR/Matchers.h"
#include "runtime/target/BlockBudget.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

namespace {
LogicalResult checkCarried(Operation *op, TypeRange types) {
  for (Type type : types)
    if (!KernelLowering::isCarried(type))
      return op->emitOpError()
             << "expected numbers, fragments or cursors as carried values because only those are "
                "registers, but got "
             << type;
  return success();
}

/// Lowers a region's block and ends it as it ended.
LogicalResult lowerBody(KernelLowering &k, Block &block) {
  if (failed(k.lowerBlock(block)))
    return failure();
  SmallVector<Value> flat;
  k.flatten(block.getTerminator()->getOperands(), flat);
  scf::YieldOp::create(k.b, flat);
  return success();
}
} // namespace

namespace {
/// The counter of a loop on the device. The number after the last position may need more than 32 bits.
struct Counter {
  Value first, end, step;
  bool isUnsigned = false;
  Value origin = {}, pitch = {}; ///< of positions, where iterations are counted

  Value position(Emitter &b, Value counter) const {
    return origin ? b.add(origin, b.mul(counter, pitch)) : counter;
  }
};

Counter counterOf(KernelLowering &k, scf::ForOp op) {
  Counter counter{k.value(op.getLowerBound()), k.value(op.getUpperBound()), k.value(op.getStep()),
                  op.getUnsignedCmp()};
  tile::PositionRanges ranges;
  // Folding subtracts constant bounds in 32 bits.
  std::optional<int64_t> low = getConstantIntValue(op.getLowerBound()),
                         high = getConstantIntValue(op.getUpperBound());
  bool isFar = low && high && *high - *low > tile::PositionRange::largest;
  if (counter.isUnsigned || !op.getInductionVar().getType().isIndex() || (ranges.fitsAfter(op, 1) && !isFar))
    return counter;
  // From 0 on, the number after the last position needs 32 bits without a sign.
  Emitter &b = k.b;
  tile::PositionRange lower = ranges.of(op.getLowerBound()), upper = ranges.of(op.getUpperBound());
  if (lower.isNonNegative() && lower.condition != tile::RangeCondition::nothingNeedsMoreBits) {
    counter.isUnsigned = true;
    if (!upper.isNonNegative() || !upper.isProven())
      counter.end = b.larger(counter.end, 0);
    return counter;
  }
  Value one = b.i32(1), zero = b.i32(0);
  Value runs = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, counter.first, counter.end);
  Value beforeLast = b.sub(b.sub(counter.end, counter.first), one);
  Value divisor = ranges.reachOf(op, 1) ? counter.step : b.larger(counter.step, 1);
  Value count = b.add(arith::DivUIOp::create(b, beforeLast, divisor), one);
  return {zero, b.select(runs, count, zero), one, /*isUnsigned=*/true, counter.first, counter.step};
}

/// The carried truth value without which what is left of the loop changes nothing; null if it has none. All
/// that has effects is a branch on it, whose other side has none and leaves what is carried as it is. Threads
/// meet in the loop as often as they go round. Of products in flight only loops with a count are known to
/// lead them on.
BlockArgument permissionOf(scf::ForOp op) {
  scf::IfOp branch;
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto candidate = dyn_cast<scf::IfOp>(inner);
    if (!branch && candidate && llvm::is_contained(op.getRegionIterArgs(), candidate.getCondition()))
      branch = candidate;
    else if (!isMemoryEffectFree(&inner) && !isa<tile::SyncOp>(inner))
      return {};
  }
  auto isFree = [](Operation &inner) { return isMemoryEffectFree(&inner); };
  if (!branch || (branch.elseBlock() && !llvm::all_of(branch.elseBlock()->without_terminator(), isFree)))
    return {};
  auto permission = cast<BlockArgument>(branch.getCondition());
  for (auto [argument, yielded] : llvm::zip(op.getRegionIterArgs(), op.getYieldedValues())) {
    auto result = dyn_cast<OpResult>(yielded);
    bool isOfBranch = result && result.getOwner() == branch;
    Value otherwise = isOfBranch ? branch.elseYield().getOperand(result.getResultNumber()) : yielded;
    if (otherwise != argument && !(argument == permission && matchPattern(otherwise, m_Zero())))
      return {};
  }
  auto isProduct = [](tile::ProductOpInterface) { return WalkResult::interrupt(); };
  return op.walk(isProduct).wasInterrupted() ? BlockArgument() : permission;
}

/// A loop that ends with its permission.
LogicalResult lowerEarlyEnd(KernelLowering &k, scf::ForOp op, BlockArgument permission) {
  Counter counter = counterOf(k, op);
  SmallVector<Value> inits = {counter.first};
  k.flatten(op.getInitArgs(), inits);
  LogicalResult body = success();
  auto enter = [&](ValueRange carried) {
    k.set(op.getInductionVar(), counter.position(k.b, carried.front()));
    k.unflatten(op.getRegionIterArgs(), carried.drop_front());
  };
  auto test = [&](OpBuilder &, Location, ValueRange carried) {
    enter(carried);
    auto below = counter.isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value isInRange = arith::CmpIOp::create(k.b, below, carried.front(), counter.end);
    scf::ConditionOp::create(k.b, k.b.both(isInRange, k.value(permission)), carried);
  };
  auto round = [&](OpBuilder &, Location, ValueRange carried) {
    enter(carried);
    k.set(permission, k.b.constant(k.b.getBoolAttr(true)));
    body = k.lowerBlock(*op.getBody());
    SmallVector<Value> next = {arith::AddIOp::create(k.b, carried.front(), counter.step)};
    if (succeeded(body))
      k.flatten(op.getYieldedValues(), next);
    scf::YieldOp::create(k.b, next);
  };
  auto loop = scf::WhileOp::create(k.b, ValueRange(inits).getTypes(), inits, test, round);
  k.unflatten(op.getResults(), loop.getResults().drop_front());
  return body;
}
} // namespace

static LogicalResult lowerOp(KernelLowering &k, scf::ForOp op) {
  if (failed(checkCarried(op, op.getResultTypes())))
    return failure();
  if (BlockArgument permission = permissionOf(op))
    return lowerEarlyEnd(k, op, permission);
  Counter counter = counterOf(k, op);
  SmallVector<Value> inits;
  k.flatten(op.getInitArgs(), inits);
  LogicalResult body = success();
  auto loop = scf::ForOp::create(k.b, counter.first, counter.end, counter.step, inits,
                                 [&](OpBuilder &, Location, Value induction, ValueRange carried) {
                                   k.set(op.getInductionVar(), counter.position(k.b, induction));
                                   k.unflatten(op.getRegionIterArgs(), carried);
                                   body = lowerBody(k, *op.getBody());
                                 });
  loop.setUnsignedCmp(counter.isUnsigned);
  k.unflatten(op.getResults(), loop.getResults());
  return body;
}

static LogicalResult lowerOp(KernelLowering &k, scf::IfOp op) {
  if (failed(checkCarried(op, op.getResultTypes())))
    return failure();
  SmallVector<Type> types;
  for (Type type : op.getResultTypes()) {
    if (isa<tile::CursorType>(type))
      types.append(2, k.b.getI32Type());
    else
      types.push_back(k.typeOf(type));
  }
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(k.b, types, k.value(op.getCondition()), /*addThenBlock=*/true,
                                  /*addElseBlock=*/hasElse);
  OpBuilder::InsertionGuard guard(k.b);
  auto fill = [&](Region &from, Region &to) {
    // Without results the builder has put a terminator there.
    if (!to.front().empty())
      to.front().back().erase();
    k.b.setInsertionPointToStart(&to.front());
    return lowerBody(k, from.front());
  };
  if (failed(fill(op.getThenRegion(), branch.getThenRegion())) ||
      (hasElse && failed(fill(op.getElseRegion(), branch.getElseRegion()))))
    return failure();
  k.unflatten(op.getResults(), branch.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

namespace {
void setRegisters(KernelLowering &k, tile::RoleOp role) {
  if (!role.getRegisters())
    return;
  int64_t count = *role.getRegisters();
  int64_t atLaunch =
      BlockBudget(k.target, int64_t(k.source.getResidents())).registersAtLaunch(int64_t(k.source.getWarps()));
  if (count != atLaunch)
    simt::SetRegistersOp::create(k.b, count, /*increase=*/count > atLaunch);
}

LogicalResult lowerRole(KernelLowering &k, tile::RoleOp role, int64_t firstWarp) {
  k.b.setLoc(role.getLoc());
  Team block = k.team;
  llvm::scope_exit restore([&, policies = k.policies] {
    k.team = block;
    k.policies = policies;
  });
  k.team.firstWarp = firstWarp;
  k.team.warps = role.getWarps();
  k.team.isBlock = k.team.warps == block.warps;
  k.team.thread = k.b.add(block.thread, -firstWarp * lanesPerWarp);
  k.team.warp = k.b.add(block.warp, -firstWarp);
  k.team.name = ("role '" + role.getName() + "'").str();
  k.team.role = role.getName().str();
  bool hasTurns = role.walk([](tile::TakeTurnOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (hasTurns && k.team.warps > warpsPerWarpgroup && failed(k.beginTurns()))
    return failure();
  k.makePolicies();
  if (!role.getOneThread())
    return k.lowerBlock(role.getBody().front());
  LogicalResult result = success();
  k.byOneThread([&] {
    k.team.threads = Team::Threads::one;
    result = k.lowerBlock(role.getBody().front());
  });
  return result;
}
} // namespace

namespace {
/// The branches by which warps find their roles. Roles that share a warpgroup stand under one
/// branch, before which its warps set their registers together, as setmaxnreg wants it.
struct RoleTree {
  explicit RoleTree(KernelLowering &k) : k(k) {}

  LogicalResult lower(ArrayRef<tile::RoleOp> roles, int64_t firstWarp) {
    auto [count, warps] = firstGroup(roles);
    return split(
        firstWarp + warps, count == roles.size(),
        [&] {
          setRegisters(k, roles.front());
          return lowerEach(roles.take_front(count), firstWarp);
        },
        [&] { return lower(roles.drop_front(count), firstWarp + warps); });
  }

  Operation *outermost = nullptr;

private:
  /// The roles, with all their warps, up to the first that ends with a warpgroup.
  static std::pair<size_t, int64_t> firstGroup(ArrayRef<tile::RoleOp> roles) {
    int64_t warps = 0;
    for (size_t i = 0; i < roles.size(); ++i) {
      tile::RoleOp role = roles[i];
      warps += int64_t(role.getWarps());
      if (!role.getRegisters() || warps % warpsPerWarpgroup == 0)
        return {i + 1, warps};
    }
    return {roles.size(), warps};
  }

  LogicalResult lowerEach(ArrayRef<tile::RoleOp> roles, int64_t firstWarp) {
    tile::RoleOp role = roles.front();
    int64_t end = firstWarp + int64_t(role.getWarps());
    return split(
        end, roles.size() == 1, [&] { return lowerRole(k, role, firstWarp); },
        [&] { return lowerEach(roles.drop_front(), end); });
  }

  /// What warps below `end` do, and what the others do; there are none if `isAll`.
  LogicalResult split(int64_t end, bool isAll, function_ref<LogicalResult()> first,
                      function_ref<LogicalResult()> others) {
    if (isAll)
      return first();
    auto branch = scf::IfOp::create(k.b, k.b.isBelow(k.warpIndex, k.b.i32(end)), /*withElseRegion=*/true);
    if (!outermost)
      outermost = branch;
    k.b.setInsertionPointToStart(branch.thenBlock());
    if (failed(first()))
      return failure();
    k.b.setInsertionPointToStart(branch.elseBlock());
    return others();
  }

  KernelLowering &k;
};
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::RolesOp op) {
  if (!k.team.isBlock || op->getParentOp() != k.source)
    return op.emitOpError()
           << "expected roles at the top level of a kernel, but got them inside another operation";
  SmallVector<tile::RoleOp> roles(op.getBody().getOps<tile::RoleOp>());
  OpBuilder::InsertionGuard guard(k.b);
  RoleTree tree(k);
  LogicalResult result = tree.lower(roles, 0);
  if (failed(result) || isa<tile::ReturnOp>(op->getNextNode()))
    return result;
  if (tree.outermost)
    k.b.setInsertionPointAfter(tree.outermost);
  if (failed(k.syncTeam()))
    return failure();
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::RematerialiseOp op) {
  k.rematerialiseDimensions();
  if (op.getWarp())
    k.rematerialiseWarp();
  return success();
}

/// What it asks for has been checked when the instructions were chosen.
static LogicalResult lowerOp(KernelLowering &, tile::RequireOp) { return success(); }

void lowering::addControlLowerings(LoweringTable &table) {
  table.add<tile::RematerialiseOp>(lowerOp);
  table.add<tile::RequireOp>(lowerOp);
  table.add<scf::ForOp>(lowerOp);
  table.add<scf::IfOp>(lowerOp);
  table.add<tile::RolesOp>(lowerOp);
}
