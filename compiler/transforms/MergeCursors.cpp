// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a loop carries one cursor for each position in a ring: cursors that begin alike and advance
/// alike are one.
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseSet.h"

namespace tlc::tile {
#define GEN_PASS_DEF_MERGECURSORS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Whether two cursors are the same, if those that loops carry, and that were compared before, are.
class SameCursors {
public:
  bool areSame(Value a, Value b) {
    if (a == b || assumed.contains({a, b}))
      return true;
    if (a.getType() != b.getType())
      return false;
    auto x = dyn_cast<OpResult>(a), y = dyn_cast<OpResult>(b);
    if (!x || !y)
      return false;
    if (auto advance = dyn_cast<AdvanceOp>(x.getOwner()))
      if (auto other = dyn_cast<AdvanceOp>(y.getOwner()))
        return areSame(advance.getCursor(), other.getCursor());
    if (isa<CursorOp>(x.getOwner()) && isa<CursorOp>(y.getOwner()))
      return true;
    if (x.getOwner() != y.getOwner())
      return false;
    if (auto loop = dyn_cast<scf::ForOp>(x.getOwner()))
      return areCarriedAlike(loop, x.getResultNumber(), y.getResultNumber());
    if (auto branch = dyn_cast<scf::IfOp>(x.getOwner()))
      return llvm::all_of(branch->getRegions(), [&](Region &region) {
        Operation *yield = region.front().getTerminator();
        return areSame(yield->getOperand(x.getResultNumber()), yield->getOperand(y.getResultNumber()));
      });
    return false;
  }

  bool areCarriedAlike(scf::ForOp loop, unsigned a, unsigned b) {
    if (!areSame(loop.getInitArgs()[a], loop.getInitArgs()[b]))
      return false;
    assumed.insert({loop.getRegionIterArg(a), loop.getRegionIterArg(b)});
    return areSame(loop.getYieldedValues()[a], loop.getYieldedValues()[b]);
  }

private:
  llvm::DenseSet<std::pair<Value, Value>> assumed;
};

/// The rings at whose slots a cursor, or one that follows from it in `loop`, stands. A cursor of one ring
/// tells analyses which slots change hands.
void addRings(Value cursor, llvm::SmallDenseSet<Value, 2> &rings, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(cursor).second)
    return;
  for (OpOperand &use : cursor.getUses()) {
    Operation *user = use.getOwner();
    if (Value ring = synchronisationOf(user).ring)
      rings.insert(ring);
    if (auto copy = dyn_cast<CopyAsyncOp>(user))
      rings.insert(copy.getRing());
    if (auto advance = dyn_cast<AdvanceOp>(user))
      addRings(advance.getNext(), rings, seen);
    else if (auto loop = dyn_cast<scf::ForOp>(user)) {
      unsigned number = use.getOperandNumber() - loop.getNumControlOperands();
      addRings(loop.getRegionIterArg(number), rings, seen);
      addRings(loop.getResult(number), rings, seen);
    } else if (auto yield = dyn_cast<scf::YieldOp>(user))
      addRings(yield->getParentOp()->getResult(use.getOperandNumber()), rings, seen);
  }
}
bool areOfOneRing(Value a, Value b) {
  llvm::SmallDenseSet<Value, 2> rings;
  llvm::DenseSet<Value> seen;
  addRings(a, rings, seen);
  addRings(b, rings, seen);
  return rings.size() <= 1;
}

struct MergeCursors : impl::MergeCursorsBase<MergeCursors> {
  void runOnOperation() override {
    // Outer loops first: then the cursors with which inner ones begin are one.
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      for (unsigned b = 1; b < loop.getNumRegionIterArgs(); ++b)
        for (unsigned a = 0; a < b; ++a)
          if (isa<CursorType>(loop.getInitArgs()[a].getType()) &&
              areOfOneRing(loop.getRegionIterArg(a), loop.getRegionIterArg(b)) &&
              SameCursors().areCarriedAlike(loop, a, b)) {
            loop.getRegionIterArg(b).replaceAllUsesWith(loop.getRegionIterArg(a));
            loop.getResult(b).replaceAllUsesWith(loop.getResult(a));
            break;
          }
    });
  }
};

} // namespace
} // namespace tlc::tile
