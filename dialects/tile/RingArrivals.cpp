// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts arrivals in program order, position by position: a cursor is a position.
#include "dialects/tile/RingArrivals.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// The warps of a role or kernel; 0 if the compiler chooses them.
int64_t warpsOf(Operation *team) {
  if (auto role = dyn_cast<RoleOp>(team))
    return int64_t(role.getWarps());
  return cast<KernelOp>(team).getWarps();
}

/// A team smaller than a warpgroup arrives as one.
int64_t warpgroupsOf(Operation *team) { return std::max<int64_t>(warpsOf(team) / warpsPerWarpgroup, 1); }

/// The arrivals at a position, and the last operation that arrives there.
struct Tally {
  int64_t count = 0;
  Operation *op = nullptr;
};
using Tallies = llvm::MapVector<Value, Tally>; ///< by cursor

/// Two numbers of arrivals that have to be equal.
struct Mismatch {
  Tally one, other;
};

class Walk {
public:
  Walk(Value ring, RingSide side, Operation *team) : ring(ring), side(side), team(team) {
    visit(team->getRegion(0), tallies);
    for (const auto &[cursor, tally] : tallies)
      compare(most, tally);
  }

  int64_t count() const { return most.count; }
  const std::optional<Mismatch> &mismatch() const { return found; }

private:
  void visit(Region &region, Tallies &into) {
    for (Block &block : region)
      for (Operation &op : block)
        visit(&op, into);
  }

  void visit(Operation *op, Tallies &into) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      visitBranches(branch, into);
    else if (op->getNumRegions() > 0 && !isa<RoleOp>(op)) {
      for (Region &region : op->getRegions())
        visit(region, into);
    } else if (auto [cursor, count] = arrivalsOf(op); count > 0) {
      Tally &tally = into[cursor];
      tally = {tally.count + count, op};
    }
  }

  void visitBranches(scf::IfOp branch, Tallies &into) {
    Tallies taken, other;
    visit(branch.getThenRegion(), taken);
    visit(branch.getElseRegion(), other);
    for (const auto &[cursor, tally] : other)
      compare(taken[cursor], tally);
    for (const auto &[cursor, tally] : taken)
      into[cursor] = {into[cursor].count + tally.count, tally.op};
  }

  /// Keeps the larger one of two that are not 0, and should be equal.
  void compare(Tally &kept, const Tally &tally) {
    if (kept.count > 0 && tally.count > 0 && kept.count != tally.count && !found)
      found = {kept, tally};
    if (tally.count > kept.count)
      kept = tally;
  }

  /// The cursor and the number, if the operation arrives on this side of the ring.
  std::pair<Value, int64_t> arrivalsOf(Operation *op) const {
    const bool fills = side == RingSide::producers;
    if (auto expect = dyn_cast<ExpectOp>(op); expect && fills && expect.getRing() == ring)
      return {expect.getCursor(), 1};
    if (auto publish = dyn_cast<PublishOp>(op); publish && fills && publish.getRing() == ring)
      return {publish.getCursor(), publish.getAfterProducts() ? 1
                                   : publish.getAfterCopies() ? warpsOf(team) * lanesPerWarp
                                                              : warpgroupsOf(team)};
    if (auto release = dyn_cast<ReleaseOp>(op); release && !fills && release.getRing() == ring)
      return {release.getCursor(), release.getAfterProducts() ? 1 : warpgroupsOf(team)};
    return {};
  }

  Value ring;
  RingSide side;
  Operation *team;
  Tallies tallies;
  Tally most;
  std::optional<Mismatch> found;
};

/// What arrives: roles, and the kernel where it does so outside of roles.
llvm::SmallSetVector<Operation *, 4> teamsOf(AllocRingOp ring) {
  llvm::SmallSetVector<Operation *, 4> teams;
  for (Operation *user : ring.getRing().getUsers())
    if (isa<ExpectOp, PublishOp, ReleaseOp>(user)) {
      auto role = user->getParentOfType<RoleOp>();
      teams.insert(role ? role.getOperation() : user->getParentOfType<KernelOp>().getOperation());
    }
  return teams;
}

} // namespace

int64_t arrivalsOf(AllocRingOp ring, RingSide side) {
  llvm::MapVector<Operation *, int64_t> counts; // by what the teams are parts of
  for (Operation *team : teamsOf(ring))
    counts[team->getParentOp()] += Walk(ring.getRing(), side, team).count();
  int64_t most = 1;
  for (const auto &[whole, count] : counts)
    most = std::max(most, count);
  return most;
}

LogicalResult verifyArrivals(AllocRingOp ring) {
  for (RingSide side : {RingSide::producers, RingSide::consumers})
    for (Operation *team : teamsOf(ring))
      if (const std::optional<Mismatch> found = Walk(ring.getRing(), side, team).mismatch()) {
        auto role = dyn_cast<RoleOp>(team);
        InFlightDiagnostic diagnostic =
            found->other.op->emitError()
            << "expected " << (role ? "role '" + role.getName().str() + "'" : std::string("the kernel"))
            << " to arrive equally often for each slot of channel '" << ring.getName() << "', but it arrives "
            << found->other.count << " times for this one and " << found->one.count << " times for another";
        diagnostic.attachNote(found->one.op->getLoc()) << "the other one";
        return diagnostic;
      }
  return success();
}

} // namespace tlc::tile
