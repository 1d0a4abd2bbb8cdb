// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared memory of other blocks of the cluster: checks, accesses, layouts.
#include "dialects/layout/StockLayouts.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/CopyChecks.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "runtime/target/Hardware.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#define GET_OP_CLASSES
#include "dialects/tile/OpsCluster.cpp.inc"

bool tile::accessesOtherBlocks(Operation *op) { return isa<LoadFromBlockOp, StoreToBlockOp>(op); }

llvm::SmallDenseSet<Value, 4> tile::buffersOfCluster(KernelOp kernel) {
  llvm::SmallDenseSet<Value, 4> buffers;
  kernel.walk([&](Operation *op) {
    if (accessesOtherBlocks(op))
      for (const MemoryAccess &access : memoryAccessesOf(op))
        buffers.insert(declarationOf(access.memory));
  });
  return buffers;
}

namespace {

/// Reports with a note on where the tile is declared.
LogicalResult reportTile(InFlightDiagnostic diagnostic, Value tile) {
  noteDeclaration(diagnostic, tile);
  return diagnostic;
}

/// load_from_block_c1, of some rows.
LogicalResult verifyRows(Operation *op, Value tile, RankedTensorType fragment, Value first) {
  auto type = cast<SharedType>(tile.getType());
  std::string name = describe(tile, "the tile");
  if (type.getTransposed())
    return reportTile(op->emitOpError() << "expected a tile as it lies because its rows are meant, but "
                                        << name << " is transposed; take the rows of all of it",
                      tile);
  ArrayRef<int64_t> extents = type.getShape(), own = fragment.getShape();
  bool isOfRows = extents.size() == 2 && own.size() == 2 && own[1] == extents[1] && own[0] <= extents[0] &&
                  own[0] % swizzleRows == 0;
  if (!isOfRows)
    return reportTile(op->emitOpError()
                          << "expected a multiple of " << swizzleRows << " of the rows of " << name
                          << ", which has " << toText(extents) << ", but got " << toText(own),
                      tile);
  if (elementTypeOf(type) != fragment.getElementType())
    return reportTile(op->emitOpError() << "expected " << name << " and the fragment to have the same "
                                        << "element type because copies do not convert, but got "
                                        << elementTypeOf(type) << " and " << fragment.getElementType(),
                      tile);
  std::optional<int64_t> known = getConstantIntValue(first);
  if (!known || (*known >= 0 && *known + own[0] <= extents[0] && *known % swizzleRows == 0))
    return success();
  return reportTile(op->emitOpError() << "expected a first row of " << name << " that is a multiple of "
                                      << swizzleRows << " from 0 to " << extents[0] - own[0] << " because "
                                      << own[0] << " rows are meant, but got " << *known,
                    tile);
}

LogicalResult verifyAccess(Operation *op, Value tile, Value fragment, Value block, Value first) {
  auto kernel = op->getParentOfType<KernelOp>();
  std::string name = describe(tile, "the tile");
  if (kernel && kernel.getCluster() < 2) // load_from_block_c2
    return reportTile(op->emitOpError()
                          << "expected a kernel with clusters of at least 2 blocks because " << name
                          << " is another block's, but '" << kernel.getName() << "' has "
                          << kernel.getCluster() << "; say k.cluster(blocks) before",
                      tile);
  if (std::optional<int64_t> known = getConstantIntValue(block); // load_from_block_c3
      kernel && known && (*known < 0 || *known >= kernel.getCluster()))
    return reportTile(op->emitOpError()
                          << "expected a block of the cluster, from 0 to " << kernel.getCluster() - 1
                          << ", but got block " << *known << " for " << name,
                      tile);
  if (isPacked(elementTypeOf(tile.getType()))) // load_from_block_c4
    return reportTile(op->emitOpError() << "expected elements of whole bytes because blocks access each "
                                        << "other's elements one by one, but " << name << " has "
                                        << elementTypeOf(tile.getType()),
                      tile);
  for (Operation *view = tile.getDefiningOp(); isa_and_present<ViewOpInterface>(view); // load_from_block_c5
       view = view->getOperand(0).getDefiningOp())
    if (cast<ViewOpInterface>(view).getSlotCursor())
      return reportTile(op->emitOpError()
                            << "expected a tile without slots because slots are handed over "
                            << "in a block, but got one of " << name << "; copy it to another tile first",
                        tile);
  if (first) // load_from_block_c1
    return verifyRows(op, tile, cast<RankedTensorType>(fragment.getType()), first);
  return isa<LoadFromBlockOp>(op) ? verifySameTile(op, tile, "the tile", fragment, "the fragment")
                                  : verifySameTile(op, fragment, "the fragment", tile, "the tile");
}

/// Faster where threads have elements that are neighbours in the tile.
FragmentLayout coalesced(Value fragment, Value tile, Operation *op) {
  Shape shape = shapeOf(fragment);
  bool isTransposed = cast<SharedType>(tile.getType()).getTransposed() && shape.size() > 1;
  return blockedLayout(shape, elementBitsOf(fragment), executingWarps(op),
                       int(shape.size()) - (isTransposed ? 2 : 1));
}

} // namespace

LogicalResult LoadFromBlockOp::verify() {
  return verifyAccess(*this, getSource(), getValue(), getBlock(), getFirst());
}

SmallVector<MemoryAccess, 3> LoadFromBlockOp::getMemoryAccesses() {
  return {{.memory = getSource(), .order = std::nullopt}};
}

LogicalResult LoadFromBlockOp::stateLayouts(FragmentRules &rules) {
  rules.produces(getValue(), coalesced(getValue(), getSource(), *this), Strength::preferred,
                 "coalesced loads");
  return success();
}

LogicalResult StoreToBlockOp::verify() {
  return verifyAccess(*this, getDestination(), getValue(), getBlock(), getFirst());
}

SmallVector<MemoryAccess, 3> StoreToBlockOp::getMemoryAccesses() {
  return {{.memory = getDestination(), .kind = AccessKind::write, .order = std::nullopt}};
}

LogicalResult StoreToBlockOp::stateLayouts(FragmentRules &rules) {
  rules.takes(getValueMutable(), coalesced(getValue(), getDestination(), *this), Strength::preferred,
              "coalesced stores");
  return success();
}

LogicalResult ClusterSyncOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && kernel.getCluster() < 2) // cluster_sync_c1
    return emitOpError() << "expected a kernel with clusters of at least 2 blocks because they meet, but '"
                         << kernel.getName() << "' has " << kernel.getCluster();
  bool isInRole = bool((*this)->getParentOfType<RoleOp>());
  if (isInRole != bool(getBarrier())) // cluster_sync_c2
    return emitOpError() << (isInRole
                                 ? "expected a barrier in a role because only some threads of a block meet"
                                 : "expected no barrier outside of roles because all threads meet")
                         << ", but got " << (isInRole ? "none" : "one");
  return success();
}

Synchronisation ClusterSyncOp::getSynchronisation() { return {.meetsFirst = true}; }
