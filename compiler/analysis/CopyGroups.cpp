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

SmallVector<Value> CopyGroup::buffers() const {
  SmallVector<Value> found;
  for (const GroupedCopy &copy : copies)
    if (!llvm::is_contained(found, copy.buffer))
      found.push_back(copy.buffer);
  return found;
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

RowsOp rowsFilledBy(Operation *copy) {
  auto load = dyn_cast<CopyOp>(copy);
  if (!load || !isLoad(load))
    return {};
  auto rows = load.getDestination().getDefiningOp<RowsOp>();
  return rows && !rows.getSource().getType().getTransposed() &&
                 rows.getSource().getDefiningOp<AllocSharedOp>()
             ? rows
             : RowsOp();
}

Value bufferFilledBy(CopyOp copy) {
  if (RowsOp rows = rowsFilledBy(copy))
    return rows.getSource();
  return copy.getDestination().getDefiningOp<AllocSharedOp>() ? copy.getDestination() : Value();
}

void forEachUse(Value tile, Operation *fill, function_ref<void(Operation *)> visit) {
  for (Operation *user : tile.getUsers()) {
    if (fill->isAncestor(user) || (rowsFilledBy(fill) && rowsFilledBy(user)))
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
  GroupFinder(KernelOp kernel, const llvm::SmallPtrSetImpl<Operation *> &positions,
              llvm::function_ref<bool(CopyOp)> isWanted, CopyGroups &found)
      : kernel(kernel), isWanted(isWanted), found(found), computed(kernel, positions), uniformity(kernel),
        ofCluster(buffersOfCluster(kernel)) {}

  /// The reason is empty on success.
  std::string add(CopyOp copy) {
    Value buffer = bufferFilledBy(copy);
    if (!copy.getSource().getDefiningOp<SliceOp>() || !buffer)
      return "the " + describeStatement(copy) + " does not fill a whole shared tile from a tensor";
    std::string problem;
    if (!rowsFilledBy(copy)) {
      problem = problemOf(copy, buffer);
    } else { // all copies to the tile run ahead, or none
      auto [known, isNew] = problemOfRows.try_emplace(buffer);
      if (isNew)
        known->second = findProblemOfRows(copy, buffer);
      problem = known->second;
    }
    if (!problem.empty())
      return problem;
    CopyGroup &group = groupFor(copy, firstReader(copy, buffer));
    auto slice = copy.getSource().getDefiningOp<SliceOp>();
    bool multicast = kernel.getCluster() > 1 && buffer == copy.getDestination() && isUniform(copy, slice) &&
                     dividesAmongBlocks(cast<SharedType>(buffer.getType()), kernel.getCluster());
    group.add({copy, buffer, multicast});
    return "";
  }

private:
  /// Why the copies that fill the tile together cannot run ahead; empty if they can.
  std::string findProblemOfRows(CopyOp copy, Value buffer) {
    SmallVector<CopyOp> copies;
    for (Operation *view : buffer.getUsers())
      for (Operation *user : view->getUsers())
        if (RowsOp rows = rowsFilledBy(user); rows && rows == view)
          copies.push_back(cast<CopyOp>(user));
    std::string name = describe(buffer, "a tile");
    for (CopyOp each : copies) {
      if (each->getBlock() != copy->getBlock() || plannedRoleOf(each) != plannedRoleOf(copy))
        return "rows of " + name + " are filled by several copies in different loops, branches or roles";
      if (!isWanted(each))
        return "other rows of " + name + " are filled by the " + describeStatement(each) + placeOf(each) +
               ", which does not run ahead";
      if (std::string problem = problemOf(each, buffer); !problem.empty())
        return problem;
    }
    llvm::sort(copies, [](CopyOp a, CopyOp b) { return firstRow(a) < firstRow(b); });
    for (size_t next = 1; next < copies.size(); ++next)
      if (firstRow(copies[next]) < firstRow(copies[next - 1]) + rowCount(copies[next - 1]))
        return "several copies fill row " + std::to_string(firstRow(copies[next])) + " of " + name;
    return "";
  }
  static int64_t firstRow(CopyOp copy) { return int64_t(rowsFilledBy(copy).getFirst()); }
  static int64_t rowCount(CopyOp copy) { return rowsFilledBy(copy).getView().getType().getShape()[0]; }

  /// The same of one copy, which fills the buffer or some of its rows.
  std::string problemOf(CopyOp copy, Value buffer) {
    auto slice = copy.getSource().getDefiningOp<SliceOp>();
    std::string name = describe(buffer, "a tile");
    if (std::string problem = positionProblem(copy, slice); !problem.empty())
      return "the position of the copy to " + name + " " + problem;
    if (Operation *writer = otherWriter(buffer, copy))
      return name + " is also filled by the " + describeStatement(writer) + placeOf(writer);
    if (Operation *writer = otherWriter(declarationOf(slice.getTensor()), copy))
      return describe(slice.getTensor(), "a tensor") + ", from where " + name +
             " is filled, is also written, by the " + describeStatement(writer) + placeOf(writer);
    if (ofCluster.contains(buffer))
      return name + " is also accessed by other blocks of the cluster, which no ring orders";
    if (slice.getRank() && waitsForRanks())
      return describe(slice.getTensor(), "a tensor") + ", from where " + name +
             " is filled, is symmetric, and the kernel waits for what is done to such tensors";
    if (isWrittenByTransfer(slice.getTensor()) && waitsForRanks())
      return describe(slice.getTensor(), "a tensor") + ", from where " + name +
             " is filled, gets what a transfer copies, and the kernel waits for that";
    bool isElsewhere = false, isInFlight = false;
    forEachUse(buffer, copy, [&](Operation *user) {
      Operation *reader = copy->getBlock()->findAncestorOpInBlock(*user);
      isElsewhere |= !reader;
      isInFlight |= reader && !endOfRead(user, copy->getBlock());
    });
    if (isElsewhere)
      return name + " is used outside the loop that fills it";
    Operation *first = firstReader(copy, buffer);
    if (!first)
      return name + " is never read";
    if (isInFlight)
      return name + " is read by a product that is still in flight at the end of the loop that fills it";
    if (first->isBeforeInBlock(copy))
      return name + " is read before it is filled";
    return "";
  }

  /// The first operation of the copy's block that reads the buffer, or null.
  static Operation *firstReader(CopyOp copy, Value buffer) {
    Operation *first = nullptr;
    forEachUse(buffer, copy, [&](Operation *user) {
      Operation *reader = copy->getBlock()->findAncestorOpInBlock(*user);
      if (reader && (!first || reader->isBeforeInBlock(first)))
        first = reader;
    });
    return first;
  }

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

  /// Another operation that writes the memory, but for copies to other rows; or null.
  Operation *otherWriter(Value memory, CopyOp copy) {
    Operation *writer = nullptr;
    kernel.walk([&](Operation *op) {
      if (op == copy || (rowsFilledBy(copy) && rowsFilledBy(op)) || !writesTo(op, memory))
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
  llvm::function_ref<bool(CopyOp)> isWanted;
  CopyGroups &found;
  llvm::DenseMap<Value, std::string> problemOfRows; ///< by tile
  ComputedValues computed;
  ClusterUniformity uniformity;
  llvm::SmallDenseSet<Value, 4> ofCluster;
};

} // namespace

CopyGroups findCopyGroups(KernelOp kernel, const llvm::SmallPtrSetImpl<Operation *> &positions,
                          llvm::function_ref<bool(CopyOp)> isWanted) {
  CopyGroups found;
  GroupFinder finder(kernel, positions, isWanted, found);
  kernel.walk([&](CopyOp copy) {
    if (!isWanted(copy))
      return;
    if (std::string problem = finder.add(copy); !problem.empty())
      found.obstacles.push_back({copy, problem});
  });
  return found;
}

} // namespace tlc::tile
