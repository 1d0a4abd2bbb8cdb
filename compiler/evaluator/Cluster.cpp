// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared tiles of other blocks of the cluster, and the order in which blocks access them.
#include "dialects/tile/Cluster.h"

#include "compiler/evaluator/Machine.h"
#include "dialects/tile/Names.h"

using namespace mlir;

namespace tlc::evaluator {

//===----------------------------------------------------------------------===//
// The order of the program
//===----------------------------------------------------------------------===//

namespace {
/// The operation at which a task stands in the body at that depth, or in which it is; null at the end.
Operation *operationAt(const Task &task, size_t depth) {
  if (depth + 1 < task.frames.size())
    return task.frames[depth + 1].owner;
  const Frame &frame = task.frames[depth];
  return frame.next == frame.body->end() ? nullptr : &*frame.next;
}

/// Whether one task stands before another one of the same role in the program, iteration by iteration.
bool isBefore(const Task &a, const Task &b) {
  for (size_t depth = 0; depth < a.frames.size() && depth < b.frames.size(); ++depth) {
    const Frame &frameOfA = a.frames[depth], &frameOfB = b.frames[depth];
    if (frameOfA.body != frameOfB.body) // the branches of a condition
      return false;
    if (frameOfA.at != frameOfB.at)
      return frameOfA.at < frameOfB.at;
    Operation *ofA = operationAt(a, depth), *ofB = operationAt(b, depth);
    if (ofA != ofB)
      return ofA && (!ofB || ofA->isBeforeInBlock(ofB));
  }
  return a.frames.size() < b.frames.size(); // about to enter what the other one is in
}

/// Those of one role, in the order in which they began.
SmallVector<const Task *> tasksOf(const BlockState &block, StringRef role) {
  SmallVector<const Task *> tasks;
  for (const Task &task : block.tasks)
    if (task.role == role)
      tasks.push_back(&task);
  return tasks;
}
} // namespace

bool Task::waitsForCluster(Operation *op) const {
  auto isOfCluster = [&](const tile::MemoryAccess &access) {
    return block.buffersOfCluster.contains(tile::declarationOf(access.memory));
  };
  if (llvm::none_of(tile::memoryAccessesOf(op), isOfCluster))
    return false;
  SmallVector<const Task *> own = tasksOf(block, role);
  size_t number = llvm::find(own, this) - own.begin();
  return llvm::any_of(block.cluster, [&](const std::unique_ptr<BlockState> &other) {
    SmallVector<const Task *> tasks = tasksOf(*other, role);
    if (number >= tasks.size())
      return true; // has yet to begin
    return !tasks[number]->isFinished() && isBefore(*tasks[number], *this);
  });
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

namespace {

/// The tile, or rows of it, where that block has it; nothing if there is no such block, or no such rows.
template <class Op> std::optional<View> viewInBlock(Task &task, Op op, Value tile, int64_t rows) {
  View view = std::get<View>(task.get(tile));
  std::string name = view.buffer->declaration.getName().str();
  auto block = task.certain(op, op.getBlock(), "the block of '" + name + "'");
  if (!block)
    return std::nullopt;
  auto blocks = static_cast<int64_t>(task.block.cluster.size());
  if (*block < 0 || *block >= blocks) {
    task.fail(op, "expected a block of the cluster, from 0 to " + Twine(blocks - 1) + ", but got block " +
                      Twine(*block) + " for '" + name + "'");
    return std::nullopt;
  }
  view.buffer = &task.block.cluster[*block]->bufferOf(view.buffer->declaration);
  if (!op.getFirst())
    return view;
  auto first = task.certain(op, op.getFirst(), "the first row of '" + name + "'");
  if (!first)
    return std::nullopt;
  if (*first < 0 || *first + rows > view.extents.front()) {
    task.fail(op, "expected a first row of '" + name + "' from 0 to " + Twine(view.extents.front() - rows) +
                      ", but got " + Twine(*first));
    return std::nullopt;
  }
  view.offset += *first * view.strides.front();
  view.extents.front() = rows;
  return view;
}

Step evaluateLoadFromBlock(Task &task, tile::LoadFromBlockOp op) {
  Extents extents = extentsOf(op.getValue());
  auto view = viewInBlock(task, op, op.getSource(), extents.front());
  auto elements = view ? readView(task, op, *view) : std::nullopt;
  if (!elements)
    return Step::failed;
  task.set(op.getValue(), Fragment{extents, std::move(*elements)});
  return Step::done;
}

Step evaluateStoreToBlock(Task &task, tile::StoreToBlockOp op) {
  const Fragment &value = task.fragment(op.getValue());
  auto view = viewInBlock(task, op, op.getDestination(), value.extents.front());
  if (!view)
    return Step::failed;
  writeView(*view, value.elements);
  return Step::done;
}

/// What it orders is in order already.
Step evaluateClusterSync(Task &, tile::ClusterSyncOp) { return Step::done; }

} // namespace

void addClusterRules(Rules &rules) {
  rules.add(evaluateClusterSync);
  rules.add(evaluateLoadFromBlock);
  rules.add(evaluateStoreToBlock);
}

} // namespace tlc::evaluator
