// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a role that starts products in a loop starts the first ones of the next iteration before it
/// waits for what other roles make of those of this one.

#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PUTAHEAD
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

RoleOp roleOf(Operation *op) { return op->getParentOfType<RoleOp>(); }

bool putsProducts(Operation *op) {
  return isa<PutOp>(op) && op->walk([](GemmInPlaceOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// The roles that get what the operations put, and those that get what these put, and so on.
llvm::SmallPtrSet<Operation *, 4> rolesThatFollow(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 4> roles;
  SmallVector<PutOp> puts;
  auto addPuts = [&](Operation *around) { around->walk([&](PutOp put) { puts.push_back(put); }); };
  llvm::for_each(ops, addPuts);
  while (!puts.empty())
    for (Operation *user : puts.pop_back_val().getChannel().getUsers())
      if (RoleOp role = roleOf(user); isa<GetOp>(user) && roles.insert(role).second)
        addPuts(role);
  return roles;
}

/// The part of a loop's body that can run an iteration ahead.
class Ahead {
public:
  explicit Ahead(scf::ForOp loop) : loop(loop) {}

  /// Whether there is one: all up to the last operation before the first wait for an answer, after which the
  /// role holds no slot.
  bool find() {
    llvm::SmallDenseMap<Value, int64_t> held; // slots, by channel
    SmallVector<Operation *> before;
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto get = dyn_cast<GetOp>(op);
      if (get && isAnswer(get, before))
        return llvm::any_of(part, putsProducts) && canRunAhead();
      if (!get && !isa<PutOp, ReleaseOldestOp>(op) && !isMemoryEffectFree(&op))
        return false;
      if (get)
        ++held[get.getChannel()];
      if (auto release = dyn_cast<ReleaseOldestOp>(op))
        --held[release.getChannel()];
      before.push_back(&op);
      if (llvm::all_of(held, [](auto count) { return count.second == 0; }))
        part.insert_range(before);
    }
    return false;
  }

  void run() {
    ImplicitLocOpBuilder builder(loop.getLoc(), loop);
    Value first = loop.getLowerBound(), end = loop.getUpperBound(), step = loop.getStep();
    startIf(arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, first, end), first, builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value left = arith::SubIOp::create(builder, end, loop.getInductionVar());
    Value next = arith::AddIOp::create(builder, loop.getInductionVar(), step);
    startIf(arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, left, step), next, builder);
    for (Operation *op : llvm::reverse(part))
      if (dependsOnSlot(op) || !isMemoryEffectFree(op))
        op->erase();
  }

private:
  /// Whether the get waits for a role that gets, by way of others maybe, what the operations put.
  static bool isAnswer(GetOp get, ArrayRef<Operation *> ops) {
    llvm::SmallPtrSet<Operation *, 4> roles = rolesThatFollow(ops);
    return llvm::any_of(get.getChannel().getUsers(),
                        [&](Operation *user) { return isa<PutOp>(user) && roles.contains(roleOf(user)); });
  }

  /// Whether the part waits for no answer itself, and whom it waits for can go an iteration ahead, too.
  bool canRunAhead() {
    return llvm::all_of(part, [&](Operation *op) {
      WalkResult walked = op->walk([&](GetOp get) {
        return isAnswer(get, part.getArrayRef()) || !isFilledAhead(get.getChannel()) ? WalkResult::interrupt()
                                                                                     : WalkResult::advance();
      });
      return canMove(op) && !walked.wasInterrupted();
    });
  }

  /// Whether the role that fills the channel, once in each iteration of a loop, comes to the next slot before
  /// slots of this iteration are released: what else it fills there has a second one.
  static bool isFilledAhead(Value channel) {
    return llvm::all_of(channel.getUsers(), [](Operation *user) {
      auto put = dyn_cast<PutOp>(user);
      if (!put)
        return true;
      auto around = dyn_cast<scf::ForOp>(put->getParentOp());
      WalkResult walked = around ? around.walk([&](PutOp each) {
        bool isAlike = each->getParentOp() == around && slotsOf(each.getChannel()) > 1;
        return isAlike ? WalkResult::advance() : WalkResult::interrupt();
      })
                                 : WalkResult::interrupt();
      return !walked.wasInterrupted();
    });
  }

  /// Whether nothing else of the iteration needs the slot that it waits for, nor it what the iterations
  /// carry, and each slot that it fills has another one beside it.
  bool canMove(Operation *op) {
    if (auto put = dyn_cast<PutOp>(op); put && slotsOf(put.getChannel()) < 2)
      return false;
    auto isCarried = [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      return argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar();
    };
    WalkResult walked = op->walk([&](Operation *nested) {
      return llvm::any_of(nested->getOperands(), isCarried) ? WalkResult::interrupt() : WalkResult::advance();
    });
    auto isOutside = [&](Operation *user) {
      return !part.contains(loop.getBody()->findAncestorOpInBlock(*user));
    };
    return !walked.wasInterrupted() && !(dependsOnSlot(op) && llvm::any_of(op->getUsers(), isOutside));
  }

  static int64_t slotsOf(Value channel) { return cast<ChannelType>(channel.getType()).getSlots(); }

  /// Whether it gives a slot, or a view of one.
  static bool dependsOnSlot(Operation *op) { return isa<GetOp, PutOp, ViewOpInterface>(op); }

  /// The part of iteration `position`, if the condition holds.
  void startIf(Value condition, Value position, ImplicitLocOpBuilder &builder) {
    auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), position);
    for (Operation *op : part)
      inside.clone(*op, mapping);
  }

  scf::ForOp loop;
  llvm::SetVector<Operation *> part;
};

struct PutAhead : impl::PutAheadBase<PutAhead> {
  using Base::Base;

  void runOnOperation() override {
    if (!enable)
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (roleOf(loop))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      if (Ahead part(loop); part.find())
        part.run();
  }
};

} // namespace
} // namespace tlc::tile
