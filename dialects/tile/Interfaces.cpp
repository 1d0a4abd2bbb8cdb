// SPDX-License-Identifier: Apache-2.0
/// \file
/// What operations say of themselves: questions about any operation, and the collection of rules.
#include "dialects/tile/Interfaces.h"

#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#include "dialects/tile/Interfaces.cpp.inc"

SmallVector<MemoryAccess, 3> tile::memoryAccessesOf(Operation *op) {
  auto accessing = dyn_cast<AccessOpInterface>(op);
  return accessing ? accessing.getMemoryAccesses() : SmallVector<MemoryAccess, 3>();
}

RowOrder tile::rowOrderOf(program::TensorOrder order) {
  switch (order) {
  case program::TensorOrder::natural:
    break;
  case program::TensorOrder::interleaved:
    return interleavedRows();
  case program::TensorOrder::accumulator:
    return accumulatorOrder();
  }
  return {};
}

Synchronisation tile::synchronisationOf(Operation *op) {
  Synchronisation found;
  if (auto ordering = dyn_cast<SynchronisationOpInterface>(op))
    found = ordering.getSynchronisation();
  if (auto moving = dyn_cast<ScratchOpInterface>(op))
    found.meetsFirst |= bool(moving.getScratch());
  return found;
}

bool tile::suitsOneThread(Operation *op) {
  auto isFragment = [](Type type) { return isa<RankedTensorType>(type); };
  if (llvm::any_of(op->getOperandTypes(), isFragment) || llvm::any_of(op->getResultTypes(), isFragment))
    return false;
  auto accessing = dyn_cast<AccessOpInterface>(op);
  return isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op) || isMemoryEffectFree(op) ||
         (accessing && accessing.suitsOneThread());
}

std::optional<Completion> tile::completionOf(Operation *op) {
  auto started = dyn_cast<InFlightOpInterface>(op);
  return started ? started.getCompletion() : std::nullopt;
}

std::optional<Completion> tile::completedBy(Operation *op) {
  auto wait = dyn_cast<CompletionOpInterface>(op);
  return wait ? std::optional(wait.getCompleted()) : std::nullopt;
}

bool tile::isAsynchronousProduct(Operation *op) {
  return isa<ProductOpInterface>(op) && llvm::any_of(memoryAccessesOf(op), [](const MemoryAccess &access) {
           return access.proxy == Proxy::matrixUnit;
         });
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

FragmentRule &FragmentRules::add(ConstraintKind kind, Value result, Value source, std::string reason) {
  FragmentRule &added = rules.emplace_back();
  added.rule.kind = kind;
  added.result = result;
  added.source = source;
  added.asker = op;
  added.reason = std::move(reason);
  return added;
}

void FragmentRules::produces(Value result, FragmentLayout layout, Strength strength, std::string reason,
                             ConversionPolicy conversion) {
  LayoutRule &rule = add(ConstraintKind::fixed, result, Value(), std::move(reason)).rule;
  rule.layout = std::move(layout);
  rule.strength = strength;
  rule.conversion = conversion;
}

void FragmentRules::takes(OpOperand &use, FragmentLayout layout, Strength strength, std::string reason) {
  FragmentRule &added = add(ConstraintKind::fixed, use.get(), Value(), std::move(reason));
  added.rule.layout = std::move(layout);
  added.rule.strength = strength;
  added.use = &use;
}

void FragmentRules::equal(Value result, OpOperand &source, std::string reason) {
  FragmentRule &added = add(ConstraintKind::equal, result, source.get(), std::move(reason));
  added.use = &source;
  added.asker = source.getOwner();
}

void FragmentRules::same(Value result, Value source) {
  add(ConstraintKind::equal, result, source, "what is carried in place").rule.conversion =
      ConversionPolicy::forbidden;
}

void FragmentRules::reduceOf(Value result, Value source, int64_t axis, std::string reason) {
  add(ConstraintKind::reduceOf, result, source, std::move(reason)).rule.axis = int(axis);
}

void FragmentRules::broadcastOf(Value result, OpOperand &source, int64_t axis, std::string reason) {
  FragmentRule &added = add(ConstraintKind::broadcastOf, result, source.get(), std::move(reason));
  added.rule.axis = int(axis);
  added.use = &source;
}

void FragmentRules::reshapeOf(Value result, OpOperand &source, std::string reason) {
  add(ConstraintKind::reshapeOf, result, source.get(), std::move(reason)).use = &source;
}

int64_t tile::executingWarps(Operation *op) {
  if (auto role = op->getParentOfType<RoleOp>())
    return role.getWarps();
  return op->getParentOfType<KernelOp>().getWarps();
}

FragmentLayout tile::layoutOf(Value fragment) {
  return cast<LayoutAttr>(cast<RankedTensorType>(fragment.getType()).getEncoding()).getLayout();
}

Shape tile::shapeOf(Value fragment) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(fragment.getType()).getShape();
  return Shape(shape.begin(), shape.end());
}

int tile::elementBitsOf(Value fragment) {
  Type type = cast<RankedTensorType>(fragment.getType()).getElementType();
  return type.isIndex() ? 32 : int(type.getIntOrFloatBitWidth());
}

Type tile::memoryTypeOf(Type element) {
  if (element.isInteger(1) || isPacked(element))
    return IntegerType::get(element.getContext(), 8);
  return element.isIndex() ? IntegerType::get(element.getContext(), 32) : element;
}
