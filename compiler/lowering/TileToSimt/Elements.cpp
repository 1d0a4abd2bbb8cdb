// SPDX-License-Identifier: Apache-2.0
/// \file
/// Single elements of tiles and tensors, and counts in tensors, by which blocks order what they do.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/Multicast.h"
#include "compiler/lowering/TileToSimt/Waits.h"
#include "dialects/simt/Cluster.h"
#include "dialects/tile/Counts.h"
#include "runtime/artifact/Reports.h"
#include "runtime/support/Excerpt.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

/// Of one element of a shared tile.
static Value addressOf(KernelLowering &k, Value tile, OperandRange position) {
  const SharedTile &shared = k.shared(tile);
  SmallVector<Value> at;
  for (Value coordinate : position)
    at.push_back(k.value(coordinate));
  Shape one(at.size(), 1);
  return SharedAddresses(k.b, shared, FragmentLayout::replicated(one, 1), Team(), at)
      .at(Coordinates(at.size(), 0));
}

/// A number that a team's threads have loaded from shared memory. All have the same, but ptxas takes it for
/// one that differs among the lanes of a warp and keeps what depends on it out of uniform registers; the
/// result of `redux.sync` is uniform (PTX ISA, 9.7.14.7).
static Value uniform(KernelLowering &k, Value number) {
  if (k.team.threads == Team::Threads::one)
    return number;
  return NVVM::ReduxOp::create(k.b, number.getType(), number, NVVM::ReduxKind::OR, k.b.i32(-1));
}

static LogicalResult lowerOp(KernelLowering &k, tile::LoadIndexOp op) {
  Type i32 = k.b.getI32Type();
  if (isa<tile::SliceType>(op.getSource().getType())) {
    const Slice &slice = k.slice(op.getSource());
    GlobalAccess access(k, slice, FragmentLayout::replicated({}, k.team.warps), {}, GlobalUse::load);
    Value inside = access.predicate({});
    Value loaded = simt::LoadOp::create(k.b, i32, access.address({}), inside, k.policyOf(slice));
    k.set(op.getValue(), inside && slice.fill ? k.b.select(inside, loaded, slice.fill) : loaded);
    return success();
  }
  Value address = addressOf(k, op.getSource(), op.getPosition());
  k.set(op.getValue(), uniform(k, simt::LoadOp::create(k.b, i32, address, Value(), Value())));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::StoreIndexOp op) {
  k.byOneThread([&] {
    Value address = addressOf(k, op.getDestination(), op.getPosition());
    simt::StoreOp::create(k.b, k.value(op.getValue()), address, Value(), Value());
  });
  return success();
}

/// Counts in symmetric tensors are other devices', too.
static bool hasSystemScope(KernelLowering &k, Value count) { return k.slice(count).isSymmetric(); }

/// One thread does `act` with the count's address if the count is in the tensor, else `otherwise`.
static void withCount(KernelLowering &k, Value count, function_ref<void(Value)> act,
                      function_ref<void()> otherwise) {
  k.byOneThread([&] {
    GlobalAccess access(k, k.slice(count), FragmentLayout::replicated({}, k.team.warps), {}, GlobalUse::load);
    Value inside = access.predicate({});
    auto within = [&] { act(access.address({})); };
    if (inside)
      k.b.choose(inside, within, otherwise);
    else
      within();
  });
}

/// An atomic addition. LLVM's own loses its order on the way to PTX (atomicrmw, LLVM
/// 22).
static Value countUp(KernelLowering &k, StringRef instruction, StringRef constraints, Type result,
                     ValueRange operands) {
  auto op = LLVM::InlineAsmOp::create(
      k.b, result ? TypeRange(result) : TypeRange(), operands, instruction, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(k.b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  return result ? op.getResult(0) : Value();
}

static LogicalResult lowerOp(KernelLowering &k, tile::AnnounceOp op) {
  if (failed(k.syncTeam()))
    return failure();
  auto announce = [&](Value address) {
    if (k.slice(op.getCount()).isOfAll())
      return countOnAllRanks(k, k.value(op.getBy()), address);
    countUp(k,
            hasSystemScope(k, op.getCount()) ? "red.release.sys.global.add.u32 [$0], $1;"
                                             : "red.release.gpu.global.add.u32 [$0], $1;",
            "l,r,~{memory}", Type(), {address, k.value(op.getBy())});
  };
  withCount(k, op.getCount(), announce, [] {});
  return success();
}

namespace {

/// A thread's loop that reads a count until it is large enough.
class CountWait {
public:
  CountWait(KernelLowering &k, tile::WaitForOp op, Value address) : k(k), b(k.b), op(op), address(address) {}

  void emit() {
    auto read = [&](OpBuilder &, Location, ValueRange) {
      Value count = readCount();
      scf::ConditionOp::create(b, isLess(count), ValueRange());
    };
    auto again = [&](OpBuilder &, Location, ValueRange) { scf::YieldOp::create(b); };
    scf::WhileOp::create(b, TypeRange(), ValueRange(), read, again);
  }

  void emit(int64_t limit) {
    Value count;
    auto readInVain = [&] {
      count = readCount();
      return isLess(count);
    };
    waitWithin(b, limit, readInVain, [&] { report(count, limit); });
  }

private:
  Value readCount() {
    // LLVM's scope without a name is the system.
    StringRef scope = hasSystemScope(k, op.getCount()) ? "" : "device";
    return LLVM::LoadOp::create(b, b.getI32Type(), address, /*alignment=*/sizeof(int32_t),
                                /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
                                /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire, scope);
  }
  Value isLess(Value count) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, count, k.value(op.getLeast()));
  }

  void report(Value count, int64_t limit) {
    const Slice &slice = k.slice(op.getCount());
    SmallVector<Value> position = slice.origin, values = {k.value(op.getLeast())};
    if (position.size() > maxReportAxes)
      position.clear();
    std::string name = excerpt(slice.tensor->argument.getName());
    if (countPlaceholders(name) != 0) {
      name = "a count";
    } else if (slice.rank) {
      name = "'" + name + ".of({})'";
      values.push_back(slice.rank);
    } else {
      name = "'" + name + "'";
    }
    values.push_back(count);
    reportWait(k, op, limit, "at least {} in " + name + ", which is {}", position, values);
  }

  KernelLowering &k;
  Emitter &b;
  tile::WaitForOp op;
  Value address;
};

} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::WaitForOp op) {
  auto wait = [&](Value address) {
    CountWait loop(k, op, address);
    std::optional<uint64_t> limit = op.getLimit();
    limit ? loop.emit(int64_t(*limit)) : loop.emit();
  };
  withCount(k, op.getCount(), wait, [] {});
  return k.syncTeam();
}

static LogicalResult lowerOp(KernelLowering &k, tile::TakeOp op) {
  if (failed(k.syncTeam()))
    return failure();
  auto write = [&](Value number) {
    simt::StoreOp::create(k.b, number, addressOf(k, op.getDestination(), op.getPosition()), Value(), Value());
  };
  auto take = [&](Value address) {
    write(countUp(k,
                  hasSystemScope(k, op.getCount()) ? "atom.acq_rel.sys.global.add.u32 $0, [$1], 1;"
                                                   : "atom.acq_rel.gpu.global.add.u32 $0, [$1], 1;",
                  "=r,l,~{memory}", k.b.getI32Type(), address));
  };
  withCount(k, op.getCount(), take, [&] { write(k.b.i32(0)); });
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::AllocResponseOp op) {
  std::optional<uint64_t> offset = op.getOffset();
  if (!offset)
    return op.emitOpError() << "expected an offset in shared memory, but got none; run "
                               "'tile-plan-shared-memory' before 'tile-to-simt'";
  k.initBarrier(int64_t(*offset) + cancelResponseBytes, /*count=*/1);
  k.set(op.getResponse(), k.sharedAt(int64_t(*offset)));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::NextBlockOp op) {
  if (failed(k.syncTeam()))
    return failure();
  Emitter &b = k.b;
  auto write = [&](Value number) {
    simt::StoreOp::create(b, number, addressOf(k, op.getDestination(), op.getPosition()), Value(), Value());
  };
  auto cancel = [&] {
    Value response = k.value(op.getResponse()), barrier = b.offset(response, cancelResponseBytes);
    Value phase = b.bitAnd(b.add(k.value(op.getN()), -1), 1);
    // The thread has read the last response, which the asynchronous proxy now replaces.
    simt::ProxyFenceOp::create(b, /*global=*/false);
    simt::BarrierExpectOp::create(b, barrier, cancelResponseBytes);
    simt::CancelBlockOp::create(b, response, barrier);
    waitAtBarrier(k, op, barrier, phase, "a response of cluster launch control", {});
    write(simt::CanceledBlockOp::create(b, b.getI32Type(), response));
  };
  k.byOneThread(
      [&] { b.choose(b.isEqual(k.value(op.getN()), 0), [&] { write(k.value(op.getOwn())); }, cancel); });
  return success();
}

void lowering::addElementLowerings(LoweringTable &table) {
  table.add<tile::LoadIndexOp>(lowerOp);
  table.add<tile::StoreIndexOp>(lowerOp);
  table.add<tile::AnnounceOp>(lowerOp);
  table.add<tile::WaitForOp>(lowerOp);
  table.add<tile::TakeOp>(lowerOp);
  table.add<tile::AllocResponseOp>(lowerOp);
  table.add<tile::NextBlockOp>(lowerOp);
}
