// SPDX-License-Identifier: Apache-2.0
/// \file
/// A walk back through loops, branches and operations that only name registers anew.

#include "compiler/analysis/RegisterWriters.h"

#include "compiler/analysis/CheapFragments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tlc::tile {

using namespace mlir;

namespace {

/// Whether the result lies in the registers of the operand.
bool passesOn(Operation *op) {
  auto ofFragments = dyn_cast<FragmentOpInterface>(op);
  return isa<arith::BitcastOp>(op) || (ofFragments && ofFragments.getSharedRegisters());
}

/// Whether the result is the operand where all operands are the same.
bool isIdempotent(Operation *op) {
  return isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::AndIOp, arith::OrIOp>(
      op);
}

/// Whether the result, or an element of it, may equal an operand when all others are known.
bool mayBeIdentity(Operation *op) {
  if (auto ofFragments = dyn_cast<FragmentOpInterface>(op))
    return ofFragments.mayKeepElements();
  if (!op->hasTrait<OpTrait::Elementwise>() || !isMemoryEffectFree(op))
    return false;
  return op->getNumOperands() > 1 ||
         isa<arith::NegFOp, math::AbsFOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp>(op);
}

class Collector {
public:
  explicit Collector(RegisterAliases aliases) : aliases(aliases) {}

  RegisterWriters writers;

  void add(Value fragment) { add(fragment, /*isMoved=*/false, elementBits(fragment)); }

  /// What the value may be.
  llvm::SmallVector<Value> equalsOf(Value value) {
    if (auto known = equals.find(value); known != equals.end())
      return known->second;
    llvm::SmallVector<Value> result = {value};
    if (Operation *op = value.getDefiningOp(); op && (passesOn(op) || mayBeIdentity(op))) {
      for (OpOperand &operand : op->getOpOperands())
        if (passesOn(op) || mayEqualResult(operand))
          llvm::append_range(result, equalsOf(operand.get()));
    } else if (auto branch = dyn_cast_if_present<scf::IfOp>(op)) { // its condition may be known later
      unsigned number = cast<OpResult>(value).getResultNumber();
      for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
        llvm::append_range(result, equalsOf(yield.getOperand(number)));
    }
    llvm::sort(result, [](Value a, Value b) { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); });
    result.erase(llvm::unique(result), result.end());
    return equals[value] = result;
  }

  bool mayBeSame(Value a, Value b) {
    llvm::SmallVector<Value> others = equalsOf(b);
    return llvm::any_of(equalsOf(a), [&](Value equal) { return llvm::is_contained(others, equal); });
  }

private:
  void add(Value value, bool isMoved, unsigned bits) {
    if (!visited.insert({value, bits}).second)
      return;
    if (isCheapFragment(value)) {
      writers.madeForUse = true;
      return;
    }
    // A value of another width than the fragment's registers have is nothing but a step to one that has it.
    bool fits = elementBits(value) == bits;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (fits)
        addCarried(cast<scf::ForOp>(argument.getOwner()->getParentOp()), argument.getArgNumber() - 1, bits);
      return;
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (fits)
        addCarried(loop, number, bits);
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (!fits)
        return;
      writers.moves.insert(branch);
      add(branch.thenYield()->getOperand(number), /*isMoved=*/true, bits);
      add(branch.elseYield()->getOperand(number), /*isMoved=*/true, bits);
      return;
    }
    if (fits)
      (isMoved ? writers.sources : writers.ops).insert(op);
    if (isa<ReshapeOp>(op)) // the same registers, as elements of another width
      add(op->getOperand(0), isMoved, fits ? elementBits(op->getOperand(0)) : bits);
    else if (passesOn(op))
      add(op->getOperand(0), isMoved, bits);
    else if (aliases == RegisterAliases::possible && mayBeIdentity(op))
      for (OpOperand &operand : op->getOpOperands())
        if (mayEqualResult(operand))
          add(operand.get(), isMoved, bits);
  }

  static unsigned elementBits(Value fragment) {
    return cast<RankedTensorType>(fragment.getType()).getElementTypeBitWidth();
  }

  /// Whether the result of the operand's operation may be the operand.
  bool mayEqualResult(OpOperand &operand) {
    Operation *op = operand.getOwner();
    if (!isa<RankedTensorType>(operand.get().getType()) || mayBeKnown(operand.get()))
      return false;
    if (isa<arith::SelectOp>(op)) // a condition may be known by the range of what it compares: abs(x) < 0
      return operand.getOperandNumber() != 0;
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &other) {
      return &other == &operand || mayBeKnown(other.get()) ||
             (isIdempotent(op) && mayBeSame(operand.get(), other.get()));
    });
  }

  /// Whether the machine's compiler may know all elements: they follow from constants, coordinates and
  /// numbers, not from memory or what a loop carries.
  bool mayBeKnown(Value value) {
    if (!isa<RankedTensorType>(value.getType()))
      return true;
    auto [entry, isNew] = known.try_emplace(value, false);
    if (!isNew)
      return entry->second;
    Operation *op = value.getDefiningOp();
    bool follows = op && (makesFragment(op) || isa<BroadcastOp>(op) ||
                          (op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op)));
    bool result =
        follows && llvm::all_of(op->getOperands(), [&](Value operand) { return mayBeKnown(operand); });
    return known[value] = result;
  }

  void addCarried(scf::ForOp loop, unsigned number, unsigned bits) {
    writers.moves.insert(loop);
    add(loop.getInitArgs()[number], /*isMoved=*/true, bits);
    add(loop.getYieldedValues()[number], /*isMoved=*/true, bits);
  }

  RegisterAliases aliases;
  llvm::SmallDenseSet<std::pair<Value, unsigned>> visited; ///< with the width that is looked for
  llvm::SmallDenseMap<Value, bool> known;
  llvm::DenseMap<Value, llvm::SmallVector<Value>> equals;
};

} // namespace

Value factorInRegisters(InFlightOpInterface product) {
  for (OpOperand &operand : product->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) && &operand != product.getContinuedOperand())
      return operand.get();
  return {};
}

StringRef nameOfFactorInRegisters(InFlightOpInterface product) {
  auto op = dyn_cast<ProductOpInterface>(product.getOperation());
  return op && op.getMetadata() ? "metadata" : "left factor";
}

/// Whether that is the left factor of a product or its metadata, which the matrix unit reads. Where its
/// layout is another one, the fragment is converted before the first of its products.
static bool isReadByMatrixUnit(const OpOperand &operand) {
  auto product = dyn_cast<ProductOpInterface>(operand.getOwner());
  return product && isAsynchronousProduct(product) &&
         (operand.get() == product.getA() || operand.get() == product.getMetadata()) &&
         operand.get() != product.getAcc();
}

bool readsFactor(Operation *op, InFlightOpInterface product,
                 llvm::function_ref<bool(Value operand, Value factor)> isSame) {
  auto rootOf = [](Value value) {
    while (Operation *definition = value.getDefiningOp()) {
      if (!passesOn(definition))
        break;
      value = definition->getOperand(0);
    }
    return value;
  };
  Value factor = factorInRegisters(product);
  if (!factor || passesOn(op) || isCheapFragment(factor))
    return false;
  Value root = rootOf(factor);
  return llvm::any_of(op->getOpOperands(), [&](const OpOperand &operand) {
    return isa<RankedTensorType>(operand.get().getType()) && isSame(rootOf(operand.get()), root) &&
           !isReadByMatrixUnit(operand);
  });
}

bool readsFactor(Operation *op, InFlightOpInterface product) {
  return readsFactor(op, product, std::equal_to<Value>());
}

bool mayBeSame(Value a, Value b) { return Collector(RegisterAliases::possible).mayBeSame(a, b); }

RegisterWriters writersOf(Value fragment, RegisterAliases aliases) {
  Collector collector(aliases);
  collector.add(fragment);
  return std::move(collector.writers);
}

} // namespace tlc::tile
