// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations are numbered in program order; a value lives from its operation's number to its last use, and
/// through all iterations of the loops around a use that do not contain the value. The branches of a choice
/// have different numbers; a value whose last use is in the second one does not live to the end of the first.
#include "compiler/analysis/LiveFragments.h"

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/LoopProducts.h"
#include "compiler/analysis/RegisterWriters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/support/Math.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>

namespace tlc::tile {

using namespace mlir;

namespace {

bool isFragment(Value value) { return isa<RankedTensorType>(value.getType()); }

/// Whether an element of the result follows from the elements of the operands at the same position.
bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isFragment(op->getResult(0)) &&
         isMemoryEffectFree(op) && (op->hasTrait<OpTrait::Elementwise>() || isa<ConvertOp>(op));
}

/// Whether a product of a fragment and a number, or a number of each row, becomes part of the sums that use
/// it: there is an instruction for both.
bool isOfSums(Operation *op) {
  if (!isa<arith::MulFOp>(op) || !isFragment(op->getResult(0)) || op->use_empty())
    return false;
  Value factor = op->getOperand(1);
  return (isCheapFragment(factor) || factor.getDefiningOp<BroadcastOp>()) &&
         llvm::all_of(op->getUsers(),
                      [](Operation *user) { return isa<arith::AddFOp, arith::SubFOp>(user); });
}

class Lifetimes {
public:
  explicit Lifetimes(Operation *team) {
    for (Region &region : team->getRegions())
      number(region);
    for (Operation *op : llvm::reverse(ops))
      findRoot(op);
    for (Operation *op : ops)
      addUses(op);
  }

  RegisterPeak peak() const {
    std::vector<int64_t> changes(size_t(count) + 2, 0);
    auto change = [&](int64_t first, int64_t last, int64_t registers) {
      changes[size_t(first)] += registers;
      changes[size_t(last) + 1] -= registers;
    };
    for (const auto &[value, ofValue] : uses) {
      change(beginOf(value) + 1, ofValue.back(), registersOf(value));
      for (auto [first, end] : gapsOf(value))
        change(first, end, -registersOf(value));
    }
    RegisterPeak peak;
    int64_t live = 0, place = 0;
    for (int64_t at = 0; at < count; ++at)
      if (live += changes[size_t(at)]; live > peak.registers) {
        peak.registers = live;
        place = at;
      }
    if (peak.registers == 0)
      return peak;
    for (Operation *op : ops)
      if (places.lookup(op).first <= place)
        peak.op = op;
    auto isHere = [&](Span span) { return span.first <= place && place <= span.second; };
    for (const auto &[value, ofValue] : uses)
      if (isHere({beginOf(value) + 1, ofValue.back()}) && llvm::none_of(gapsOf(value), isHere))
        insert({value, registersOf(value)}, peak.fragments);
    return peak;
  }

private:
  using Span = std::pair<int64_t, int64_t>; ///< the first and the last number
  struct Branches {
    int64_t begin, otherwise, end;
  };

  /// Before the smaller ones.
  static void insert(const LiveFragment &fragment, std::vector<LiveFragment> &fragments) {
    auto isSmaller = [&](const LiveFragment &other) { return other.registers < fragment.registers; };
    fragments.insert(std::ranges::find_if(fragments, isSmaller), fragment);
  }

  void number(Region &region) {
    for (Block &block : region)
      for (Operation &op : block) {
        if (isa<RolesOp>(op))
          continue;
        ops.push_back(&op);
        int64_t first = count++;
        if (auto choice = dyn_cast<scf::IfOp>(op)) {
          number(choice.getThenRegion());
          int64_t otherwise = count;
          number(choice.getElseRegion());
          branches.push_back({first, otherwise, count});
        } else {
          for (Region &inner : op.getRegions())
            number(inner);
        }
        places[&op] = {first, op.getNumRegions() ? count++ : first};
      }
  }

  /// The operation of an elementwise expression where its elements are needed. A reduction takes each when it
  /// is computed for this, unless its result is needed before.
  void findRoot(Operation *op) {
    Operation *root = nullptr;
    SmallVector<Operation *> reductions;
    if (isElementwise(op))
      for (Operation *user : op->getUsers()) {
        bool isBeside = user->getBlock() == op->getBlock();
        if (isBeside && isa<ReduceOp>(user)) {
          reductions.push_back(user);
          continue;
        }
        Operation *ofUser = isBeside && isElementwise(user) ? roots.lookup(user) : op;
        root = !root || root == ofUser ? ofUser : op;
      }
    bool isTaken = root && llvm::none_of(reductions, [&](Operation *reduction) {
                     return llvm::any_of(reduction->getUsers(), [&](Operation *user) {
                       Operation *beside = op->getBlock()->findAncestorOpInBlock(*user);
                       return beside && beside->isBeforeInBlock(root);
                     });
                   });
    roots[op] = isTaken ? root : op;
  }

  void addUses(Operation *op) {
    if (isElementwise(op) && isCheapFragment(op->getResult(0)))
      return;
    if (!sourceOf(op) && !isOfSums(op))
      for (Value operand : op->getOperands())
        use(operand, roots.lookup(op), places.lookup(roots.lookup(op)).first);
    // A product reads its factor until it is complete.
    auto product = dyn_cast<InFlightOpInterface>(op);
    Value factor = isProductInFlight(op) ? factorInRegisters(product) : Value();
    if (factor)
      for (Operation *user : product.getValueInFlight().getUsers())
        if (completedBy(user) == Completion::productGroup && places.contains(user))
          use(factor, user, places.lookup(user).first);
  }

  /// The fragment whose registers the operation's result has; null where it has its own.
  static Value sourceOf(Operation *op) {
    auto ofFragments = dyn_cast<FragmentOpInterface>(op);
    Value source = ofFragments && op->getNumResults() == 1 ? ofFragments.getSharedRegisters() : Value();
    bool isSame = source && (isa<BroadcastOp>(op) || registersOf(source) == registersOf(op->getResult(0)));
    return isSame ? source : Value();
  }

  void use(Value value, Operation *user, int64_t place) {
    if (!isFragment(value) || isCheapFragment(value))
      return;
    if (Operation *op = value.getDefiningOp()) {
      if (Value source = sourceOf(op))
        return use(source, user, place);
      if (isOfSums(op)) {
        for (Value operand : op->getOperands())
          use(operand, user, place);
        return;
      }
      if (roots.lookup(op) != op)
        return; // of the expression that uses it
    }
    for (Operation *at = user; at && at->getBlock() != value.getParentBlock(); at = at->getParentOp())
      if (isa_and_present<scf::ForOp>(at->getParentOp()) && at->getBlock() != value.getParentBlock())
        place = places.lookup(at->getParentOp()).second;
    SmallVector<int64_t> &ofValue = uses[value];
    place = std::max(place, beginOf(value));
    ofValue.insert(llvm::upper_bound(ofValue, place), place);
  }

  /// Where the fragment is not needed because its last use is in the other branch.
  SmallVector<Span> gapsOf(Value value) const {
    SmallVector<Span> gaps;
    ArrayRef<int64_t> ofValue = uses.find(value)->second;
    for (const Branches &branch : branches) {
      if (beginOf(value) >= branch.begin || ofValue.back() < branch.otherwise || ofValue.back() >= branch.end)
        continue;
      int64_t last = branch.begin;
      for (int64_t place : ofValue)
        if (place < branch.otherwise)
          last = std::max(last, place);
      if (last + 1 < branch.otherwise)
        gaps.push_back({last + 1, branch.otherwise - 1});
    }
    return gaps;
  }

  int64_t beginOf(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? places.lookup(argument.getOwner()->getParentOp()).first
                    : places.lookup(value.getDefiningOp()).second;
  }

  std::vector<Operation *> ops;                      ///< in program order
  llvm::DenseMap<Operation *, Span> places;          ///< where they begin and end
  llvm::DenseMap<Operation *, Operation *> roots;    ///< of expressions
  llvm::MapVector<Value, SmallVector<int64_t>> uses; ///< where, in order
  std::vector<Branches> branches;
  int64_t count = 0;
};

} // namespace

int64_t registersOf(Value fragment) {
  int64_t bits = elementBitsOf(fragment);
  return bits == 1 ? 0 : ceilDiv(layoutOf(fragment).registersPerThread() * bits, registerBits);
}

RegisterPeak registerPeak(Operation *team) { return Lifetimes(team).peak(); }

} // namespace tlc::tile
