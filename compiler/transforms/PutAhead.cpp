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
        return llvm::any_of(part, putsProducts) && canRunAhead() && findPlaces();
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
    startIf(arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, first, end), first, builder,
            part.getArrayRef());
    builder.setInsertionPointToStart(loop.getBody());
    Value left = arith::SubIOp::create(builder, end, loop.getInductionVar());
    Value next = arith::AddIOp::create(builder, loop.getInductionVar(), step);
    Value isNext = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, left, step);
    for (const Piece &piece : pieces) {
      if (piece.place)
        builder.setInsertionPointAfter(piece.place);
      startIf(isNext, next, builder, piece.ops);
    }
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

  /// Shares the part out: what fills the only slot of a channel comes after the answers of who gets it.
  bool findPlaces() {
    if (llvm::all_of(part, [](Operation *op) {
          return !isa<PutOp>(op) || slotsOf(cast<PutOp>(op).getChannel()) > 1;
        })) {
      pieces.push_back({llvm::to_vector(part), nullptr});
      return true;
    }
    Piece piece;
    for (Operation *op : part) {
      piece.ops.push_back(op);
      auto put = dyn_cast<PutOp>(op);
      if (!put)
        continue;
      piece.place = lastAnswer(put);
      if (!piece.place || (!pieces.empty() && piece.place->isBeforeInBlock(pieces.back().place)))
        return false;
      pieces.push_back(std::exchange(piece, {}));
    }
    llvm::append_range(pieces.back().ops, piece.ops);
    // One piece would come where it is: at the end of an iteration instead of the next one's begin.
    return pieces.size() > 1 && llvm::all_of(part, [&](Operation *op) {
             auto get = dyn_cast<GetOp>(op);
             bool isUsed = isa<PutOp>(op) && !op->use_empty();
             return !isUsed && (!get || isOnlyOneHeld(get));
           });
  }

  /// The last operation after the part on what roles fill that get what the operation puts, or null.
  Operation *lastAnswer(PutOp put) {
    llvm::SmallPtrSet<Operation *, 2> roles;
    for (Operation *user : put.getChannel().getUsers())
      if (isa<GetOp>(user))
        roles.insert(roleOf(user));
    auto isAnswered = [&](Value channel) {
      return llvm::any_of(channel.getUsers(),
                          [&](Operation *user) { return isa<PutOp>(user) && roles.contains(roleOf(user)); });
    };
    Operation *last = nullptr;
    for (Operation &op : loop.getBody()->without_terminator())
      if (!part.contains(&op) && isa<GetOp, ReleaseOldestOp>(op) && isAnswered(op.getOperand(0)))
        last = &op;
    return last;
  }

  /// Whether the role holds no other slot of the channel in the loop.
  bool isOnlyOneHeld(GetOp get) {
    return llvm::none_of(get.getChannel().getUsers(), [&](Operation *user) {
      return user != get && isa<GetOp>(user) && loop->isAncestor(user);
    });
  }

  /// Whether nothing else of the iteration needs the slot that it waits for, nor it what the iterations
  /// carry.
  bool canMove(Operation *op) {
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

  /// Those operations of iteration `position`, if the condition holds.
  void startIf(Value condition, Value position, ImplicitLocOpBuilder &builder, ArrayRef<Operation *> ops) {
    auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), position);
    for (Operation *op : ops)
      cloneWithOperands(op, inside, mapping);
  }

  /// What an earlier piece has computed is computed again; the slot that it holds is the oldest one.
  void cloneWithOperands(Operation *op, OpBuilder &builder, IRMapping &mapping) {
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        Operation *from = operand.getDefiningOp();
        if (!from || !part.contains(from) || mapping.contains(operand))
          continue;
        if (auto get = dyn_cast<GetOp>(from))
          mapping.map(operand, OldestOp::create(builder, get.getLoc(), get.getChannel()).getSlot());
        else
          cloneWithOperands(from, builder, mapping);
      }
    });
    builder.clone(*op, mapping);
  }

  /// Operations that move together.
  struct Piece {
    SmallVector<Operation *> ops;
    Operation *place = nullptr; ///< after which they come; null: the loop's begin
  };

  scf::ForOp loop;
  llvm::SetVector<Operation *> part;
  SmallVector<Piece, 2> pieces; ///< of it, in order
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
