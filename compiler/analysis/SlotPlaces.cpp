// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cursors are compared by induction over the loops that carry them.
#include "compiler/analysis/SlotPlaces.h"

#include "compiler/analysis/CopyGroups.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/target/TensorColumns.h"

#include "llvm/ADT/DenseMap.h"

namespace tlc::tile {

using namespace mlir;

int64_t slotsOf(Value cursor) { return cast<CursorType>(cursor.getType()).getSlots(); }

int64_t modulo(int64_t number, int64_t slots) { return (number % slots + slots) % slots; }

Position positionOf(Value cursor) {
  Position position{cursor, 0};
  while (auto advance = position.root.getDefiningOp<AdvanceOp>()) {
    position.root = advance.getCursor();
    ++position.offset;
  }
  position.offset = modulo(position.offset, slotsOf(cursor));
  return position;
}

Place placeOf(Value memory) {
  Place place;
  while (Operation *op = memory.getDefiningOp()) {
    if (auto buffer = dyn_cast<AllocationOpInterface>(op)) {
      place.buffer = buffer;
      break;
    }
    auto view = dyn_cast<ViewOpInterface>(op);
    if (!view)
      break;
    if (Value cursor = view.getSlotCursor()) {
      place.isSlot = true;
      place.positions = {positionOf(cursor)};
    }
    memory = op->getOperand(0);
  }
  return place;
}

namespace {

/// In the units in which its offset counts.
int64_t sizeOf(AllocationOpInterface buffer) {
  Type type = buffer->getResult(0).getType();
  if (auto inTensorMemory = dyn_cast<TensorMemoryType>(type))
    return inTensorMemory.numSlots() * inTensorMemory.slotColumns();
  return sizeInBytes(cast<SharedType>(type));
}

/// Of planned tiles: whether they have columns in common, and lanes.
bool shareCells(AllocTensorMemoryOp a, AllocTensorMemoryOp b) {
  auto hasAllLanes = [](AllocTensorMemoryOp tile) {
    return tile.getBuffer().getType().getShape().drop_back().back() == tcgen05Rows;
  };
  const TensorPlace placeA = TensorPlace::decode(int64_t(*a.getOffset())),
                    placeB = TensorPlace::decode(int64_t(*b.getOffset()));
  return (placeA.lane == placeB.lane || hasAllLanes(a) || hasAllLanes(b)) &&
         placeA.column < placeB.column + sizeOf(b) && placeB.column < placeA.column + sizeOf(a);
}

bool share(AllocationOpInterface a, AllocationOpInterface b) {
  if (a == b || !a || !b)
    return true;
  if (a.getMemorySpace() != b.getMemorySpace() || !a.getOffset() || !b.getOffset())
    return false;
  auto first = dyn_cast<AllocTensorMemoryOp>(*a), second = dyn_cast<AllocTensorMemoryOp>(*b);
  if (first && second)
    return shareCells(first, second);
  int64_t ofA = int64_t(*a.getOffset()), ofB = int64_t(*b.getOffset());
  return ofA < ofB ? ofA + sizeOf(a) > ofB : ofB + sizeOf(b) > ofA;
}

/// How far one cursor is ahead of another, where that is the same whenever both are there.
class CursorDistance {
public:
  std::optional<int64_t> between(Value a, Value b) {
    if (slotsOf(a) != slotsOf(b))
      return std::nullopt;
    Position from = positionOf(a), to = positionOf(b);
    std::optional<int64_t> roots = from.root == to.root ? 0 : betweenRoots(from.root, to.root);
    if (!roots)
      return std::nullopt;
    return modulo(*roots + to.offset - from.offset, slotsOf(a));
  }

private:
  std::optional<int64_t> betweenRoots(Value a, Value b) {
    if (auto assumed = assumptions.find({a, b}); assumed != assumptions.end())
      return assumed->second;
    Operation *op = controlOf(a);
    if (!op || op != controlOf(b))
      return std::nullopt;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      auto [i, j] = std::pair(cast<OpResult>(a).getResultNumber(), cast<OpResult>(b).getResultNumber());
      std::optional<int64_t> yes =
          between(branch.thenYield()->getOperand(i), branch.thenYield()->getOperand(j));
      return yes == between(branch.elseYield()->getOperand(i), branch.elseYield()->getOperand(j))
                 ? yes
                 : std::nullopt;
    }
    // By induction over the iterations.
    auto loop = cast<scf::ForOp>(op);
    unsigned i = numberOf(a), j = numberOf(b);
    std::optional<int64_t> first = between(loop.getInitArgs()[i], loop.getInitArgs()[j]);
    if (!first)
      return std::nullopt;
    std::pair<Value, Value> arguments(loop.getRegionIterArg(i), loop.getRegionIterArg(j));
    assumptions[arguments] = *first;
    std::optional<int64_t> next = between(loop.getYieldedValues()[i], loop.getYieldedValues()[j]);
    assumptions.erase(arguments);
    return next == first ? first : std::nullopt;
  }

  /// The loop or branch that the value comes from, as what it carries or as a result.
  static Operation *controlOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value))
      op = argument.getOwner()->getParentOp();
    return isa_and_present<scf::ForOp, scf::IfOp>(op) ? op : nullptr;
  }
  static unsigned numberOf(Value carried) {
    auto argument = dyn_cast<BlockArgument>(carried);
    return argument ? argument.getArgNumber() - 1 : cast<OpResult>(carried).getResultNumber();
  }

  llvm::DenseMap<std::pair<Value, Value>, int64_t> assumptions;
};

} // namespace

Relation relationOf(ArrayRef<Position> a, ArrayRef<Position> b) {
  for (const Position &x : a)
    for (const Position &y : b)
      if (slotsOf(x.root) == slotsOf(y.root))
        if (std::optional<int64_t> distance = CursorDistance().between(x.root, y.root))
          return modulo(*distance + y.offset - x.offset, slotsOf(x.root)) == 0 ? Relation::same
                                                                               : Relation::different;
  return Relation::unknown;
}

Relation relationOf(const Place &a, const Place &b) {
  if (!share(a.buffer, b.buffer))
    return Relation::different;
  return a.buffer == b.buffer && a.isSlot && b.isSlot ? relationOf(a.positions, b.positions) : Relation::same;
}

} // namespace tlc::tile
