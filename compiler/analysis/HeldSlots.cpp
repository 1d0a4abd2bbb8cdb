// SPDX-License-Identifier: Apache-2.0
#include "compiler/analysis/HeldSlots.h"

#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include "llvm/ADT/STLExtras.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// Iterations of a loop with a constant trip count that are followed where each changes what the team holds.
constexpr int64_t maxIterations = 64;

} // namespace

bool isAfter(Operation *later, Operation *op) {
  for (Operation *before = op; before; before = before->getParentOp()) {
    if (isa<RoleOp, KernelOp>(before))
      return false;
    if (Operation *same = before->getBlock()->findAncestorOpInBlock(*later))
      return same != before && before->isBeforeInBlock(same);
    if (isa<scf::IfOp>(before->getParentOp())) // the other branch may not have executed `op`
      return false;
  }
  return false;
}

HeldSlots::HeldSlots(const ChannelUse &use, const ChannelUse::Team &team)
    : channel(use.channels().front()), family(use.channels()), team(team),
      slots(cast<ChannelType>(channel.getChannel().getType()).getSlots()), isReleased(use.isReleased()),
      releasesItself(llvm::any_of(team.releases, [](ReleaseOldestOp op) { return !op.getByOthers(); })) {}

LogicalResult HeldSlots::follow() {
  const Outcome outcome = follow(team.op->getRegion(0));
  isOne &= outcome == Outcome::known;
  return failure(outcome == Outcome::failed);
}

HeldSlots::Outcome HeldSlots::follow(Region &region) {
  for (Block &block : region)
    for (Operation &op : block)
      if (Outcome outcome = follow(&op); outcome != Outcome::known)
        return outcome;
  return Outcome::known;
}

HeldSlots::Outcome HeldSlots::follow(Operation *op) {
  if (isa<RoleOp>(op)) // another team
    return Outcome::known;
  if (isAboutChannel(op)) {
    if (auto filling = dyn_cast<PutOp>(op))
      return put(filling);
    if (auto waiting = dyn_cast<GetOp>(op))
      return get(waiting);
    if (auto giving = dyn_cast<ReleaseOldestOp>(op))
      return release(giving);
    if (isa<ReclaimOp>(op))
      return Outcome::known;
    isOne &= counts.held() == 1;
    ofOldest.push_back(cast<OldestOp>(op));
    return Outcome::known;
  }
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return followLoop(loop);
  if (isa<scf::IfOp>(op))
    return followBranches(op);
  if (op->getNumRegions() == 1)
    return follow(op->getRegion(0));
  const WalkResult walked = op->walk([&](Operation *nested) {
    return isAboutChannel(nested) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walked.wasInterrupted() ? Outcome::unknown : Outcome::known;
}

bool HeldSlots::isAboutChannel(Operation *op) const {
  Value of = channelOf(op);
  return of && llvm::is_contained(family, of.getDefiningOp<ChannelOp>());
}

HeldSlots::Outcome HeldSlots::followLoop(LoopLikeOpInterface loop) {
  const std::optional<APInt> trips = loop.getStaticTripCount();
  for (int64_t iteration = 0; !trips || iteration < trips->getSExtValue(); ++iteration) {
    const Counts before = counts;
    for (Region &region : loop->getRegions())
      if (Outcome outcome = follow(region); outcome != Outcome::known)
        return outcome;
    const bool isRepeated = !trips || iteration == maxIterations;
    if (counts.held() == before.held() && (counts.ahead() == before.ahead() || isRepeated)) {
      arePutsKnown &= counts.ahead() == before.ahead();
      return Outcome::known; // it holds what it held, after all iterations
    }
    isOne = false;
    if (!trips && !team.gets.empty() && !team.releases.empty())
      return reportUnbalanced(loop, before);
    if (isRepeated)
      return Outcome::unknown;
  }
  return Outcome::known;
}

HeldSlots::Outcome HeldSlots::reportUnbalanced(LoopLikeOpInterface loop, const Counts &before) {
  const int64_t gets = counts.gets - before.gets, releases = counts.releases - before.releases;
  InFlightDiagnostic diagnostic =
      loop->emitError("expected each iteration of the loop to release as many slots of channel '")
      << name() << "' as it gets because there may be any number of iterations, but each gets " << gets
      << " and releases " << releases << "; call release() where a slot is no longer used";
  diagnostic.attachNote(channel.getLoc()) << "the channel is declared here";
  return Outcome::failed;
}

HeldSlots::Outcome HeldSlots::followBranches(Operation *op) {
  const Counts before = counts;
  const SmallVector<GetOp> heldBefore = held;
  std::optional<Counts> other;
  for (Region &region : op->getRegions()) {
    counts = before;
    held = heldBefore;
    if (Outcome outcome = follow(region); outcome != Outcome::known)
      return outcome;
    if (other && other->held() != counts.held())
      return Outcome::unknown;
    arePutsKnown &= !other || other->ahead() == counts.ahead();
    other = counts;
  }
  return Outcome::known;
}

HeldSlots::Outcome HeldSlots::put(PutOp op) {
  if (op.getChannel() != channel.getChannel()) { // into the slot that the team holds
    isOne &= counts.held() == 1;
    return follow(op->getRegion(0));
  }
  if (releasesItself && arePutsKnown && counts.ahead() + counts.held() >= slots) {
    InFlightDiagnostic diagnostic =
        op.emitError("expected this role to release a slot of channel '")
        << name() << "' before it fills one more because it has filled and not released all " << slots
        << ", so it waits for itself; call release() before, or give the channel more slots";
    diagnostic.attachNote(channel.getLoc()) << "the channel is declared here";
    return Outcome::failed;
  }
  if (!isReleased && arePutsKnown && counts.puts >= slots) {
    InFlightDiagnostic diagnostic = op.emitError("expected a role that releases slots of channel '")
                                    << name() << "' because this one fills more than the " << slots
                                    << " that there are, but none does; call release() in the role that gets "
                                       "them, once it is done with the slot";
    diagnostic.attachNote(channel.getLoc()) << "the channel is declared here";
    return Outcome::failed;
  }
  if (Outcome outcome = follow(op->getRegion(0)); outcome != Outcome::known)
    return outcome;
  ++counts.puts;
  return Outcome::known;
}

HeldSlots::Outcome HeldSlots::get(GetOp op) {
  if (releasesItself && counts.held() >= slots) {
    InFlightDiagnostic diagnostic =
        op.emitError("expected this role to release a slot of channel '")
        << name() << "' before it gets one more because it holds all " << slots
        << ", so no role can fill another; call release() before, or give the channel more slots";
    if (!held.empty())
      diagnostic.attachNote(held.front().getLoc()) << "the oldest is got here";
    return Outcome::failed;
  }
  if (!team.puts.empty() && arePutsKnown && counts.ahead() <= 0) {
    PutOp put = team.puts.front();
    InFlightDiagnostic diagnostic =
        op.emitError("expected this role to put into channel '")
        << name()
        << "' before it gets the slot because a slot is full once all roles that put have filled it, "
        << "so it waits for itself; call put() before";
    diagnostic.attachNote(put.getLoc()) << "it puts here";
    return Outcome::failed;
  }
  ++counts.gets;
  isOne &= counts.held() == 1;
  held.push_back(op);
  return Outcome::known;
}

HeldSlots::Outcome HeldSlots::release(ReleaseOldestOp op) {
  if (!team.gets.empty() && counts.held() <= 0) {
    InFlightDiagnostic diagnostic =
        op.emitError("expected this role to get a slot of channel '")
        << name() << "' before it gives back one more because it holds none; call get() before";
    diagnostic.attachNote(channel.getLoc()) << "the channel is declared here";
    return Outcome::failed;
  }
  ++counts.releases;
  isOne &= counts.held() == 0;
  SmallVector<Operation *> stale(ofOldest.begin(), ofOldest.end());
  ofOldest.clear();
  if (!held.empty()) { // else another role got it
    GetOp oldest = held.front();
    held.erase(held.begin());
    if (!llvm::is_contained(held, oldest)) // in a later iteration
      stale.push_back(oldest);
  }
  for (Operation *each : stale)
    if (isAfter(op, each) && failed(verifyUses(each->getResult(0), op)))
      return Outcome::failed;
  return Outcome::known;
}

LogicalResult HeldSlots::verifyUses(Value slot, ReleaseOldestOp release) {
  for (Operation *user : slot.getUsers()) {
    if (isa<ViewOpInterface>(user)) { // of the slot's part
      if (failed(verifyUses(user->getResult(0), release)))
        return failure();
      continue;
    }
    if (!isAfter(user, release))
      continue;
    InFlightDiagnostic diagnostic =
        user->emitError("expected no use of a slot of channel '")
        << name() << "' after the role has given it back because it may be filled again; "
        << "call " << (release.getByOthers() ? "pass()" : "release()") << " later";
    diagnostic.attachNote(release.getLoc()) << "it is given back here";
    return diagnostic;
  }
  return success();
}

} // namespace tlc::tile
