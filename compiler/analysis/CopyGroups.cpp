// SPDX-License-Identifier: Apache-2.0
/// \file
/// Groups copies by the block they stand in and the operation that reads them first.

#include "compiler/analysis/CopyGroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {

using namespace mlir;

int64_t sizeInBytes(SharedType type) {
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  for (int64_t extent : type.getShape())
    bits *= extent;
  return bits / 8;
}

namespace {

/// The operations of `block` that use the buffer, directly or through views, or contain such a use.
void collectReaders(Value view, Block *block, Operation *writer, llvm::SetVector<Operation *> &readers) {
  for (Operation *user : view.getUsers()) {
    if (user == writer)
      continue;
    if (auto transpose = dyn_cast<TransposeOp>(user))
      collectReaders(transpose.getView(), block, writer, readers);
    else if (Operation *inBlock = block->findAncestorOpInBlock(*user))
      readers.insert(inBlock);
    else
      readers.insert(nullptr); // outlives the block that fills it
  }
}

/// Whether the value is the same in all blocks of a cluster.
bool isClusterUniform(Value value, int64_t cluster) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (isa<KernelOp>(owner))
      return true;
    auto loop = dyn_cast<scf::ForOp>(owner);
    return loop && argument == loop.getInductionVar() && isClusterUniform(loop.getLowerBound(), cluster) &&
           isClusterUniform(loop.getStep(), cluster);
  }
  Operation *op = value.getDefiningOp();
  if (auto divide = dyn_cast<arith::DivUIOp>(op))
    if (auto size = divide.getRhs().getDefiningOp<arith::ConstantIndexOp>();
        size && size.value() == cluster && divide.getLhs().getDefiningOp<GridOp>())
      return true; // the cluster's number
  if (isa<GridOp, BlockRankOp>(op) || op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isClusterUniform(operand, cluster); });
}

class GroupFinder {
public:
  GroupFinder(KernelOp kernel, CopyGroups &found) : kernel(kernel), found(found) {}

  /// The reason is empty on success.
  std::string add(CopyOp copy) {
    auto buffer = copy.getDestination().getDefiningOp<AllocSharedOp>();
    if (!buffer)
      return "a copy fills a part of a buffer";
    std::string name = ("'" + buffer.getName() + "'").str();
    if (!filled.insert(buffer).second)
      return name + " is filled by more than one copy";
    llvm::SetVector<Operation *> readers;
    collectReaders(buffer.getBuffer(), copy->getBlock(), copy, readers);
    if (readers.contains(nullptr))
      return name + " is used outside the loop that fills it";
    if (readers.empty())
      return name + " is never read";
    auto before = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
    Operation *first = *llvm::min_element(readers, before), *last = *llvm::max_element(readers, before);
    if (first->isBeforeInBlock(copy))
      return name + " is read before it is filled";

    CopyGroup *group = nullptr;
    for (auto &candidate : found.groups)
      if (candidate->block == copy->getBlock() && candidate->firstReader == first)
        group = candidate.get();
    if (!group) {
      found.groups.push_back(std::make_unique<CopyGroup>());
      group = found.groups.back().get();
      group->block = copy->getBlock();
      group->firstReader = group->lastReader = first;
    }
    group->copies.push_back(copy);
    group->bytes += sizeInBytes(cast<SharedType>(buffer.getType()));
    if (group->lastReader->isBeforeInBlock(last))
      group->lastReader = last;
    auto loop = dyn_cast<scf::ForOp>(copy->getParentOp());
    if (loop)
      if (auto pipeline = loop->getAttrOfType<PipelineAttr>(TileDialect::pipelineAttrName))
        group->slots = pipeline.getStages();
    int64_t cluster = kernel.getCluster();
    if (cluster > 1 && cast<SharedType>(buffer.getType()).getShape().front() % (8 * cluster) == 0)
      group->multicast |= isForWholeCluster(copy, kernel);
    return "";
  }

private:
  KernelOp kernel;
  CopyGroups &found;
  llvm::SmallPtrSet<Operation *, 8> filled;
};

} // namespace

CopyGroup *CopyGroups::groupOf(CopyOp copy) const {
  for (auto &group : groups)
    if (llvm::is_contained(group->copies, copy))
      return group.get();
  return nullptr;
}

CopyGroups findCopyGroups(KernelOp kernel) {
  CopyGroups found;
  GroupFinder finder(kernel, found);
  kernel.walk([&](CopyOp copy) {
    if (found.problem.empty() && copy.getAtom() == CopyAtom::tma)
      found.problem = finder.add(copy);
  });
  return found;
}

bool isForWholeCluster(CopyOp copy, KernelOp kernel) {
  auto slice = copy.getSource().getDefiningOp<SliceOp>();
  return llvm::all_of(slice.getOrigin(), [&](Value v) { return isClusterUniform(v, kernel.getCluster()); });
}

} // namespace tlc::tile
