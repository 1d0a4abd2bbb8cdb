// SPDX-License-Identifier: Apache-2.0
/// \file
/// Groups copies by the block they stand in and the operation that reads them first.

#include "compiler/analysis/CopyGroups.h"

#include "compiler/analysis/ClusterUniformity.h"
#include "compiler/analysis/ComputedValues.h"
#include "compiler/analysis/RolePlan.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Transfers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

using namespace mlir;

int64_t sizeInBytes(SharedType type) {
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  for (int64_t extent : type.getShape())
    bits *= extent;
  return bits / 8;
}

void CopyGroup::add(const GroupedCopy &copy) {
  block = copy.op->getBlock();
  copies.push_back(copy);
}

bool CopyGroup::isSumInPlace() const { return isa<scf::IfOp>(copies.front().op); }

ValueRange conditionOf(Operation *control) {
  constexpr unsigned bounds = 3; // before what the loop carries
  ValueRange operands = control->getOperands();
  return isa<scf::ForOp>(control) ? operands.take_front(bounds) : operands;
}

bool isLoad(CopyOp copy) {
  return copy.getSource().getDefiningOp<SliceOp>() && isa<SharedType>(copy.getDestination().getType());
}

void forEachUse(Value tile, Operation *fill, function_ref<void(Operation *)> visit) {
  for (Operation *user : tile.getUsers()) {
    if (fill->isAncestor(user))
      continue;
    if (viewedTile(user))
      forEachUse(user->getResult(0), fill, visit);
    else
      visit(user);
  }
}

Operation *endOfRead(Operation *reader, Block *block) {
  Operation *here = block->findAncestorOpInBlock(*reader);
  if (!here || completionOf(reader) != Completion::productGroup)
    return here;
  auto completes = [](Operation *op) {
    return completedBy(op) == Completion::productGroup &&
           cast<CompletionOpInterface>(op).getNumInFlight() == 0;
  };
  for (Operation *op = reader; op; op = op->getBlock() == block ? nullptr : op->getParentOp())
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (completes(next))
        return block->findAncestorOpInBlock(*next);
  return nullptr;
}

namespace {

/// The loops and branches around an operation, innermost first.
SmallVector<Operation *> controlAround(Operation *op) {
  SmallVector<Operation *> around;
  for (Operation *parent = op->getParentOp(); parent && !isa<KernelOp>(parent);
       parent = parent->getParentOp())
    around.push_back(parent);
  return around;
}

/// Each block of the cluster loads its share of a box's rows, in whole repeats of the swizzle.
bool dividesAmongBlocks(SharedType type, int64_t cluster) {
  Shape shape(type.getShape().begin(), type.getShape().end());
  SharedLayout layout =
      SharedLayout::preferred(shape, type.getElementType().getIntOrFloatBitWidth(), int(shape.size()) - 1);
  Result<TmaBoxes> boxes = tmaBoxes(layout);
  return boxes && layout.rowAxis() && boxes->box[size_t(*layout.rowAxis())] % (swizzleRows * cluster) == 0;
}

/// Whether the operation writes the tensor or the buffer.
bool writesTo(Operation *op, Value memory) {
  return llvm::any_of(memoryAccessesOf(op), [&](const MemoryAccess &access) {
    return access.kind != AccessKind::read && declarationOf(access.memory) == memory;
  });
}

class GroupFinder {
public:
  GroupFinder(KernelOp kernel, const llvm::SmallPtrSetImpl<Operation *> &positions, CopyGroups &found)
      : kernel(kernel), found(found), computed(kernel, positions), uniformity(kernel),
        ofCluster(buffersOfCluster(kernel)) {}

  /// The reason is empty on success.
  std::string add(CopyOp copy) {
    auto slice = copy.getSource().getDefiningOp<SliceOp>();
    auto buffer = copy.getDestination().getDefiningOp<AllocSharedOp>();
    if (!slice || !buffer)
      return "the " + describeStatement(copy) + " does not fill a whole shared tile from a tensor";
    std::string name = ("'" + buffer.getName() + "'").str();
    if (std::string problem = positionProblem(copy, slice); !problem.empty())
      return "the position of the copy to " + name + " " + problem;
    if (Operation *writer = otherWriter(buffer.getBuffer(), copy))
      return name + " is also filled by the " + describeStatement(writer) + placeOf(writer);
    if (Operation *writer = otherWriter(declarationOf(slice.getTensor()), copy))
      return describe(slice.getTensor(), "a tensor") + ", from where " + name +
             " is filled, is also written, by the " + describeStatement(writer) + placeOf(writer);
    if (ofCluster.contains(buffer.getBuffer()))
      return name + " is also accessed by other blocks of the cluster, which no ring orders";
    if (slice.getRank() && waitsForRanks())
      return describe(slice.getTensor(), "a tensor") + ", from where " + name +
             " is filled, is symmetric, and the kernel waits for what is done to such tensors";
    if (isWrittenByTransfer(slice.getTensor()) && waitsForRanks())
      return describe(slice.getTensor(), "a tensor") + ", from where " + name +
             " is filled, gets what a transfer copies, and the kernel waits for that";
    Operation *first = nullptr;
    bool isElsewhere = false, isInFlight = false;
    forEachUse(buffer.getBuffer(), copy, [&](Operation *user) {
      Operation *reader = copy->getBlock()->findAncestorOpInBlock(*user);
      isElsewhere |= !reader;
      isInFlight |= reader && !endOfRead(user, copy->getBlock());
      if (reader && (!first || reader->isBeforeInBlock(first)))
        first = reader;
    });
    if (isElsewhere)
      return name + " is used outside the loop that fills it";
    if (!first)
      return name + " is never read";
    if (isInFlight)
      return name + " is read by a product that is still in flight at the end of the loop that fills it";
    if (first->isBeforeInBlock(copy))
      return name + " is read before it is filled";

    CopyGroup &group = groupFor(copy, first);
    bool multicast = kernel.getCluster() > 1 && isUniform(copy, slice) &&
                     dividesAmongBlocks(buffer.getBuffer().getType(), kernel.getCluster());
    group.add({copy, buffer.getBuffer(), multicast});
    return "";
  }

private:
  /// Why another role cannot know where the copy reads, and when; empty if it can.
  std::string positionProblem(CopyOp copy, SliceOp slice) {
    auto isComputed = [&](Value value) { return computed.contains(value); };
    for (Operation *control : controlAround(copy))
      if (llvm::any_of(conditionOf(control), isComputed))
        return "depends on a loop or branch that follows computed data";
    return llvm::any_of(slice->getOperands(), isComputed) ? "depends on computed data" : "";
  }

  /// Whether the blocks of a cluster execute the copy the same number of times, on the same tile.
  bool isUniform(CopyOp copy, SliceOp slice) {
    return uniformity.areUniform(slice->getOperands()) &&
           llvm::all_of(controlAround(copy),
                        [&](Operation *control) { return uniformity.areUniform(conditionOf(control)); });
  }

  /// Whether other ranks may have to do something before the kernel goes on.
  bool waitsForRanks() {
    return kernel
        .walk([](Operation *op) {
          return goesOnAfterBlocks(op) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Another operation that writes the memory, or null.
  Operation *otherWriter(Value memory, CopyOp copy) {
    Operation *writer = nullptr;
    kernel.walk([&](Operation *op) {
      if (op == copy || !writesTo(op, memory))
        return WalkResult::advance();
      writer = op;
      return WalkResult::interrupt();
    });
    return writer;
  }

  CopyGroup &groupFor(CopyOp copy, Operation *firstReader) {
    for (auto &group : found.groups)
      if (group->block == copy->getBlock() && group->readers.front().first == firstReader &&
          plannedRoleOf(group->copies.front().op) == plannedRoleOf(copy))
        return *group;
    CopyGroup &group = *found.groups.emplace_back(std::make_unique<CopyGroup>());
    group.block = copy->getBlock();
    group.readers.push_back({/*role=*/{}, firstReader});
    if (auto loop = dyn_cast<scf::ForOp>(copy->getParentOp()))
      if (auto pipeline = loop->getAttrOfType<PipelineAttr>(TileDialect::pipelineAttrName))
        group.slots = pipeline.getStages();
    return group;
  }

  KernelOp kernel;
  CopyGroups &found;
  ComputedValues computed;
  ClusterUniformity uniformity;
  llvm::SmallDenseSet<Value, 4> ofCluster;
};

} // namespace

CopyGroups findCopyGroups(KernelOp kernel, const llvm::SmallPtrSetImpl<Operation *> &positions,
                          llvm::function_ref<bool(CopyOp)> isWanted) {
  CopyGroups found;
  GroupFinder finder(kernel, positions, found);
  kernel.walk([&](CopyOp copy) {
    if (!isWanted(copy))
      return;
    if (std::string problem = finder.add(copy); !problem.empty())
      found.obstacles.push_back({copy, problem});
  });
  return found;
}

} // namespace tlc::tile
