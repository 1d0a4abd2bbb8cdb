// SPDX-License-Identifier: Apache-2.0
/// \file
/// What products add to or read, from where it is made to where they are complete: these registers nobody can
/// save. Lifetimes are in places of a round: iteration i's stage 0 is at places 0 to n - 1, its stage 1 at n
/// to 2 n - 1.
#include "compiler/analysis/RoundRegisters.h"

#include "compiler/analysis/CheapFragments.h"
#include "dialects/tile/Tile.h"
#include "runtime/support/Math.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <vector>

namespace tlc::tile {

using namespace mlir;

namespace {

class Lifetimes {
public:
  Lifetimes(scf::ForOp loop, ArrayRef<Operation *> ops, const Schedule &schedule)
      : loop(loop), ops(ops), places(int64_t(ops.size())) {
    for (auto [op, slot] : llvm::zip_equal(ops, schedule.slots))
      placeOf[op] = slot.stage * places + slot.order;
  }

  int64_t most() {
    for (Operation *op : ops) {
      if (completionOf(op) == Completion::productGroup) {
        // It reads its factor until it is complete.
        Operation *end = completionOfProduct(op);
        for (Value operand : op->getOperands())
          use(operand, placeOf.lookup(end ? end : op));
      } else if (completedBy(op) == Completion::productGroup) {
        use(cast<CompletionOpInterface>(op).getAwaitedValue(), placeOf.lookup(op));
      }
    }
    for (auto [carried, left] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
      carry(carried, left);
    std::vector<int64_t> live(size_t(places), 0);
    for (auto [value, end] : ends) {
      auto carried = dyn_cast<BlockArgument>(value);
      int64_t first = carried ? 0 : placeOf.lookup(value.getDefiningOp()) + 1;
      int64_t count = carried ? places : std::min(end - first + 1, 2 * places);
      for (int64_t at = first; at < first + count; ++at)
        live[size_t(at % places)] += registersOf(value);
    }
    return live.empty() ? 0 : *std::ranges::max_element(live);
  }

private:
  /// The value whose registers these are; null for one that takes none of the loop's.
  Value holderOf(Value value) {
    for (;;) {
      if (!isa<RankedTensorType>(value.getType()) || isCheapFragment(value))
        return {};
      if (auto carried = dyn_cast<BlockArgument>(value))
        return carried.getOwner() == loop.getBody() ? value : Value();
      Operation *op = value.getDefiningOp();
      if (!placeOf.contains(op))
        return {};
      Value continued = continuedBy(op);
      if (!continued || isCheapFragment(continued) ||
          (!isa<BlockArgument>(continued) && !placeOf.contains(continued.getDefiningOp())))
        return value;
      value = continued;
    }
  }

  static Value continuedBy(Operation *op) {
    if (auto product = dyn_cast<InFlightOpInterface>(op); product && product.getContinuedOperand())
      return product.getContinuedOperand()->get();
    auto wait = dyn_cast<CompletionOpInterface>(op);
    return wait ? wait.getAwaitedValue() : Value();
  }

  Operation *completionOfProduct(Operation *product) {
    for (Operation *user : cast<InFlightOpInterface>(product).getValueInFlight().getUsers())
      if (completedBy(user) == Completion::productGroup && placeOf.contains(user))
        return user;
    return nullptr;
  }

  void use(Value value, int64_t place) {
    Value holder = holderOf(value);
    if (!holder)
      return;
    int64_t &end = ends[holder];
    end = std::max(end, place);
  }

  /// What an iteration leaves lives until the next one uses it.
  void carry(BlockArgument carried, Value left) {
    int64_t place = 2 * places;
    for (Operation *user : carried.getUsers())
      if (Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user); placeOf.contains(inBody))
        place = std::min(place, places + placeOf.lookup(inBody));
    use(left, place);
  }

  int64_t registersOf(Value fragment) {
    int64_t elements = cast<RankedTensorType>(fragment.getType()).getNumElements();
    return ceilDiv(elements * elementBitsOf(fragment), registerBits * lanesPerWarp * executingWarps(loop));
  }

  scf::ForOp loop;
  ArrayRef<Operation *> ops;
  int64_t places;
  llvm::DenseMap<Operation *, int64_t> placeOf;
  llvm::MapVector<Value, int64_t> ends; ///< of the values that hold registers: the last place that needs them
};

} // namespace

int64_t registersOfProducts(scf::ForOp loop, ArrayRef<Operation *> ops, const Schedule &schedule) {
  return Lifetimes(loop, ops, schedule).most();
}

} // namespace tlc::tile
