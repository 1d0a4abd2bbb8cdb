// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations are numbered in program order; a value lives from its operation's number to its last use, and
/// through all iterations of the loops around a use that do not contain the value.
#include "compiler/analysis/LiveFragments.h"

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/RegisterWriters.h"
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
    for (auto [value, end] : ends) {
      changes[size_t(beginOf(value)) + 1] += registersOf(value);
      changes[size_t(end) + 1] -= registersOf(value);
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
    for (auto [value, end] : ends)
      if (beginOf(value) < place && place <= end)
        insert({value, registersOf(value)}, peak.fragments);
    return peak;
  }

private:
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
        for (Region &inner : op.getRegions())
          number(inner);
        places[&op] = {first, op.getNumRegions() ? count++ : first};
      }
  }

  /// The operation of an elementwise expression where its elements are needed.
  void findRoot(Operation *op) {
    Operation *root = nullptr;
    if (isElementwise(op))
      for (Operation *user : op->getUsers()) {
        Operation *ofUser =
            user->getBlock() == op->getBlock() && isElementwise(user) ? roots.lookup(user) : op;
        root = !root || root == ofUser ? ofUser : op;
      }
    roots[op] = root ? root : op;
  }

  void addUses(Operation *op) {
    if (isElementwise(op) && isCheapFragment(op->getResult(0)))
      return;
    if (!sourceOf(op))
      for (Value operand : op->getOperands())
        use(operand, roots.lookup(op), places.lookup(roots.lookup(op)).first);
    // A product reads its factor until it is complete.
    auto product = dyn_cast<InFlightOpInterface>(op);
    Value factor = product && completionOf(op) ? factorInRegisters(product) : Value();
    if (factor)
      for (Operation *user : product.getValueInFlight().getUsers())
        if (completedBy(user) == Completion::productGroup && places.contains(user))
          use(factor, user, places.lookup(user).first);
  }

  /// The fragment whose registers the operation's result has; null where it has its own.
  static Value sourceOf(Operation *op) {
    auto ofFragments = dyn_cast<FragmentOpInterface>(op);
    Value source = ofFragments ? ofFragments.getSharedRegisters() : Value();
    bool isSame = source && (isa<BroadcastOp>(op) || registersOf(source) == registersOf(op->getResult(0)));
    return isSame ? source : Value();
  }

  void use(Value value, Operation *user, int64_t place) {
    if (!isFragment(value) || isCheapFragment(value))
      return;
    if (Operation *op = value.getDefiningOp()) {
      if (Value source = sourceOf(op))
        return use(source, user, place);
      if (roots.lookup(op) != op)
        return; // of the expression that uses it
    }
    for (Operation *at = user; at && at->getBlock() != value.getParentBlock(); at = at->getParentOp())
      if (isa_and_present<scf::ForOp>(at->getParentOp()) && at->getBlock() != value.getParentBlock())
        place = places.lookup(at->getParentOp()).second;
    int64_t &end = ends.try_emplace(value, beginOf(value)).first->second;
    end = std::max(end, place);
  }

  int64_t beginOf(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? places.lookup(argument.getOwner()->getParentOp()).first
                    : places.lookup(value.getDefiningOp()).second;
  }

  std::vector<Operation *> ops;                                    ///< in program order
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> places; ///< where they begin and end
  llvm::DenseMap<Operation *, Operation *> roots;                  ///< of expressions
  llvm::MapVector<Value, int64_t> ends;                            ///< last uses
  int64_t count = 0;
};

} // namespace

int64_t registersOf(Value fragment) {
  int64_t bits = elementBitsOf(fragment);
  return bits == 1 ? 0 : ceilDiv(layoutOf(fragment).registersPerThread() * bits, registerBits);
}

RegisterPeak registerPeak(Operation *team) { return Lifetimes(team).peak(); }

} // namespace tlc::tile
