// SPDX-License-Identifier: Apache-2.0
#include "compiler/analysis/ChannelUse.h"

#include "compiler/analysis/HeldSlots.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include "llvm/ADT/STLExtras.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// The role around an operation, or the kernel.
Operation *teamOf(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  return role ? role.getOperation() : op->getParentOfType<KernelOp>().getOperation();
}

} // namespace

Value channelOf(Operation *op) {
  return isa<PutOp, GetOp, OldestOp, ReclaimOp, ReleaseOldestOp>(op) ? op->getOperand(0) : Value();
}

ChannelUse::ChannelUse(ChannelOp channel) : family({channel}) {
  for (Operation *user : channel.getChannel().getUsers())
    if (auto other = dyn_cast<ChannelOp>(user))
      family.push_back(other);
  auto teamOfUse = [&](Operation *use) -> Team & {
    Operation *op = teamOf(use);
    for (Team &team : all)
      if (team.op == op)
        return team;
    return all.emplace_back(Team{.op = op, .first = use});
  };
  channel->getParentOfType<KernelOp>().walk<WalkOrder::PreOrder>([&](Operation *op) {
    Value of = channelOf(op);
    if (!of || !llvm::is_contained(family, of.getDefiningOp<ChannelOp>()))
      return;
    Team &team = teamOfUse(op);
    if (auto put = dyn_cast<PutOp>(op))
      (of == channel.getChannel() ? team.puts : team.putsIntoHeld).push_back(put);
    else if (auto get = dyn_cast<GetOp>(op))
      team.gets.push_back(get);
    else if (auto oldest = dyn_cast<OldestOp>(op))
      team.oldest.push_back(oldest);
    else if (auto reclaim = dyn_cast<ReclaimOp>(op))
      team.reclaims.push_back(reclaim);
    else
      team.releases.push_back(cast<ReleaseOldestOp>(op));
  });
}

bool ChannelUse::isReleased() const {
  return llvm::any_of(all, [](const Team &team) {
    return !llvm::all_of(team.releases, [](ReleaseOldestOp release) { return release.getByOthers(); });
  });
}

LogicalResult ChannelUse::verify() {
  for (ChannelOp channel : family) {
    PutOp put;
    GetOp get;
    for (Operation *user : channel.getChannel().getUsers()) {
      put = isa<PutOp>(user) ? cast<PutOp>(user) : put;
      get = isa<GetOp>(user) ? cast<GetOp>(user) : get;
    }
    if (put && !get)
      return reportAt(put, "expected a role that gets from channel '" + channel.getName() +
                               "' because this one puts into it, but none does; call get() in the role that "
                               "uses the slots");
    if (get && !put)
      return reportAt(get,
                      "expected a role that puts into channel '" + channel.getName() +
                          "' because this one waits for its slots, but none does; call put() in the role "
                          "that fills them");
  }
  for (Team &team : all) {
    HeldSlots held(*this, team);
    if (failed(verify(team)) || failed(held.follow()))
      return failure();
    team.holdsOneAtMost = held.isOneAtMost() && !team.gets.empty() && !team.releases.empty();
  }
  return success();
}

LogicalResult ChannelUse::reportAt(Operation *op, const Twine &message, Operation *other, const Twine &note) {
  InFlightDiagnostic diagnostic = op->emitError(message);
  if (other)
    diagnostic.attachNote(other->getLoc()) << note;
  else
    diagnostic.attachNote(family.front().getLoc()) << "the channel is declared here";
  return diagnostic;
}

LogicalResult ChannelUse::verify(const Team &team) {
  const std::string name = family.front().getName().str();
  if (const Team &first = all.front(); team.op->getParentOp() != first.op->getParentOp())
    return reportAt(
        team.first,
        "expected one k.roles to use channel '" + name +
            "' because each role begins at the channel's first slot, but another k.roles, or the kernel "
            "outside of roles, uses it, too; declare a channel for each",
        first.first, "the other use is here");
  if (!isReleased())
    for (PutOp put : team.puts)
      if (auto loop = put->getParentOfType<LoopLikeOpInterface>();
          loop && team.op->isAncestor(loop) && !loop.getStaticTripCount())
        return reportAt(put,
                        "expected a role that releases slots of channel '" + name +
                            "' because this one fills them in a loop, but none does; call release() in the "
                            "role that gets them, once it is done with the slot");
  for (GetOp get : team.gets)
    if (GetOp first = team.gets.front(); get.getChannel() != first.getChannel())
      return reportAt(get,
                      "expected a role to get each slot from one channel, but channels '" +
                          cast<ChannelOp>(get.getChannel().getDefiningOp()).getName() + "' and '" +
                          cast<ChannelOp>(first.getChannel().getDefiningOp()).getName() +
                          "' hand over the same slots",
                      first, "the other get is here");
  for (ReleaseOldestOp op : team.releases)
    if (llvm::all_of(all, [](const Team &each) { return each.gets.empty(); }))
      return reportAt(op,
                      "expected a role that gets from channel '" + name +
                          "' because this one releases its slots, but none does; call get() in the role that "
                          "uses the slots");
    else if (op.getChannel() != family.front().getChannel())
      return reportAt(op, "expected a release of channel '" + name + "' because '" +
                              cast<ChannelOp>(op.getChannel().getDefiningOp()).getName() +
                              "' hands over its slots; release that channel");
  if (team.releases.empty() && !team.oldest.empty())
    return reportAt(
        team.oldest.front(),
        "expected this role to release slots of channel '" + name +
            "' because oldest() is the one that it releases or passes next, but it does neither; use "
            "what get() returned");
  if (!team.putsIntoHeld.empty() && (team.gets.empty() || team.releases.empty()))
    return reportAt(team.putsIntoHeld.front(),
                    "expected this role to get and to release or pass slots of channel '" + name +
                        "' because it fills the oldest one that it holds, but it does not");
  return success();
}

} // namespace tlc::tile
