// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a `tile.cluster_sync` stands between accesses to one tile by different blocks of which one
/// writes. It stands where all blocks come equally often: before a branch or loop that they may not take
/// alike. One walk in program order with the accesses since the last one; loops are walked twice, so that the
/// back edge is seen.

#include "compiler/analysis/ClusterUniformity.h"
#include "compiler/analysis/CopyGroups.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/MapVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACECLUSTERSYNCS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// What has been done to a buffer, by its own block and by others.
struct Uses {
  bool ownRead = false, ownWrite = false, otherRead = false, otherWrite = false;

  void add(const Uses &uses) {
    ownRead |= uses.ownRead;
    ownWrite |= uses.ownWrite;
    otherRead |= uses.otherRead;
    otherWrite |= uses.otherWrite;
  }
  bool writes() const { return ownWrite || otherWrite; }
  bool any() const { return ownRead || otherRead || writes(); }
};

/// Whether a write and an access of different blocks may meet.
bool mayMeet(const Uses &a, const Uses &b) {
  return (a.otherWrite && b.any()) || (b.otherWrite && a.any()) || (a.otherRead && b.writes()) ||
         (b.otherRead && a.writes());
}

/// By buffer.
using Accesses = llvm::MapVector<Value, Uses>;

void add(Accesses &to, const Accesses &accesses) {
  for (const auto &[buffer, uses] : accesses)
    to[buffer].add(uses);
}

bool conflict(const Accesses &earlier, const Accesses &later) {
  return llvm::any_of(later, [&](const auto &entry) {
    auto found = earlier.find(entry.first);
    return found != earlier.end() && mayMeet(found->second, entry.second);
  });
}

class SyncPlacer {
public:
  explicit SyncPlacer(KernelOp kernel)
      : kernel(kernel), uniformity(kernel), buffers(buffersOfCluster(kernel)) {}

  LogicalResult place() {
    Accesses accessed;
    return buffers.empty() ? success() : place(kernel.getBody().front(), accessed);
  }

private:
  LogicalResult place(Block &block, Accesses &accessed) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(place(&op, accessed)))
        return failure();
    return success();
  }

  LogicalResult place(Operation *op, Accesses &accessed) {
    if (isa<ClusterSyncOp>(op)) {
      accessed.clear();
      return success();
    }
    if (auto roles = dyn_cast<RolesOp>(op))
      return placeInRoles(roles, accessed);
    if (isa<scf::ForOp, scf::IfOp>(op) && uniformity.areUniform(conditionOf(op)))
      return isa<scf::ForOp>(op) ? placeInLoop(cast<scf::ForOp>(op), accessed)
                                 : placeInBranch(cast<scf::IfOp>(op), accessed);
    Accesses accesses = accessesIn(op);
    if (conflict(accessed, accesses))
      meet(op, accessed);
    add(accessed, accesses);
    return op->getNumRegions() ? checkInside(op, accesses) : success();
  }

  LogicalResult placeInLoop(scf::ForOp loop, Accesses &accessed) {
    for (int round = 0; round < 2; ++round) {
      Accesses inside = accessed;
      if (failed(place(*loop.getBody(), inside)))
        return failure();
      add(accessed, inside); // the back edge, and the way past a loop that does not run
    }
    return success();
  }

  LogicalResult placeInBranch(scf::IfOp branch, Accesses &accessed) {
    Accesses after = branch.getElseRegion().empty() ? accessed : Accesses();
    for (Region &region : branch->getRegions())
      for (Block &block : region) {
        Accesses inside = accessed;
        if (failed(place(block, inside)))
          return failure();
        add(after, inside);
      }
    accessed = std::move(after);
    return success();
  }

  LogicalResult placeInRoles(RolesOp roles, Accesses &accessed) {
    if (failed(checkRoles(roles)))
      return failure();
    if (conflict(accessed, accessesIn(roles)))
      meet(roles, accessed);
    Accesses after = accessed;
    for (RoleOp role : roles.getBody().getOps<RoleOp>()) {
      Accesses own = accessed;
      if (failed(place(role.getBody().front(), own)))
        return failure();
      add(after, own);
    }
    accessed = std::move(after);
    return success();
  }

  /// Only the threads of one role meet those of other blocks.
  LogicalResult checkRoles(RolesOp roles) {
    llvm::DenseMap<Value, Operation *> users;
    auto checked = roles.walk([&](Operation *op) {
      for (const auto &[buffer, uses] : accessesOf(op)) {
        auto [user, isFirst] = users.try_emplace(buffer, op);
        auto first = user->second->getParentOfType<RoleOp>(), role = op->getParentOfType<RoleOp>();
        if (isFirst || first == role)
          continue;
        InFlightDiagnostic diagnostic =
            op->emitError("expected one role to use ")
            << describe(buffer, "a tile") << " because other blocks of the cluster access it, and only one "
            << "role of each meets them, but role '" << role.getName() << "' does, too";
        diagnostic.attachNote(user->second->getLoc()) << "role '" << first.getName() << "' uses it here";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(checked.wasInterrupted());
  }

  /// Nobody meets in a branch or loop that not all blocks take alike.
  LogicalResult checkInside(Operation *control, const Accesses &inside) {
    llvm::DenseMap<Value, SmallVector<Operation *, 2>> users;
    control->walk([&](Operation *op) {
      for (const auto &[buffer, uses] : accessesOf(op))
        users[buffer].push_back(op);
    });
    bool repeats = !isa<scf::IfOp>(control);
    control->walk([&](Operation *op) { repeats |= isa<scf::ForOp>(op); });
    for (const auto &[buffer, uses] : inside) {
      SmallVector<Operation *, 2> &found = users[buffer];
      if (!mayMeet(uses, uses) || (found.size() == 1 && !repeats))
        continue;
      InFlightDiagnostic diagnostic = control->emitError("expected a ")
                                      << (isa<scf::IfOp>(control) ? "branch" : "loop")
                                      << " that all blocks of the cluster take alike, or one access to "
                                      << describe(buffer, "a tile")
                                      << " in it, because the blocks meet between accesses to each other's "
                                         "tiles, but what decides it may "
                                         "differ from block to block";
      for (Operation *op : found)
        diagnostic.attachNote(op->getLoc()) << describe(buffer, "the tile") << " is accessed here";
      return diagnostic;
    }
    return success();
  }

  /// Those of the operation itself.
  Accesses accessesOf(Operation *op) const {
    Accesses accesses;
    for (const MemoryAccess &access : memoryAccessesOf(op)) {
      Value buffer = declarationOf(access.memory);
      if (!buffers.contains(buffer))
        continue;
      bool isRead = access.kind == AccessKind::read, isOther = accessesOtherBlocks(op);
      accesses[buffer].add({.ownRead = isRead && !isOther,
                            .ownWrite = !isRead && !isOther,
                            .otherRead = isRead && isOther,
                            .otherWrite = !isRead && isOther});
    }
    return accesses;
  }
  /// And of what is in its regions.
  Accesses accessesIn(Operation *op) const {
    Accesses accesses;
    op->walk([&](Operation *inner) { add(accesses, accessesOf(inner)); });
    return accesses;
  }

  void meet(Operation *before, Accesses &accessed) {
    OpBuilder builder(before);
    auto role = before->getParentOfType<RoleOp>();
    ClusterSyncOp::create(builder, before->getLoc(), role ? barrierOf(role) : Value());
    accessed.clear();
  }

  Value barrierOf(RoleOp role) {
    Value &barrier = barriers[role];
    if (!barrier) {
      OpBuilder builder(role->getParentOp());
      int64_t count = int64_t(role.getWarps()) * lanesPerWarp + kernel.getCluster() - 1;
      barrier = AllocBarrierOp::create(builder, role.getLoc(), (role.getName() + ".cluster").str(), count,
                                       /*offset=*/IntegerAttr());
    }
    return barrier;
  }

  KernelOp kernel;
  ClusterUniformity uniformity;
  llvm::SmallDenseSet<Value, 4> buffers;
  llvm::DenseMap<Operation *, Value> barriers; ///< of roles
};

struct PlaceClusterSyncs : impl::PlaceClusterSyncsBase<PlaceClusterSyncs> {
  void runOnOperation() override {
    if (failed(SyncPlacer(getOperation()).place()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
