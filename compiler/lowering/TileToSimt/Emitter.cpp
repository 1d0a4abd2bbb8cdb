// SPDX-License-Identifier: Apache-2.0
/// \file
/// The builder of per-thread code. It folds only what address arithmetic makes of
/// constants; the rest is the optimiser's.
#include "compiler/lowering/TileToSimt/Emitter.h"

#include "runtime/support/Math.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

Emitter::Emitter(Location loc, Block *entry)
    : ImplicitLocOpBuilder(loc, OpBuilder::atBlockEnd(entry)), entry(entry) {}

Value Emitter::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known) {
    InsertionGuard guard(*this);
    setInsertionPointToStart(entry);
    known = arith::ConstantOp::create(static_cast<OpBuilder &>(*this), UnknownLoc::get(getContext()), value);
  }
  return known;
}

Value Emitter::integer(Type type, int64_t value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return constant(DenseElementsAttr::get(vector, getIntegerAttr(vector.getElementType(), value)));
  return constant(getIntegerAttr(type, value));
}

std::optional<int64_t> Emitter::known(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      return integer.getInt();
  return std::nullopt;
}

Value Emitter::add(Value lhs, Value rhs) {
  std::optional<int64_t> a = known(lhs), b = known(rhs);
  if (a && b)
    return integer(lhs.getType(), *a + *b);
  if (a == 0)
    return rhs;
  return b == 0 ? lhs : binary<arith::AddIOp>(lhs, rhs);
}

Value Emitter::mul(Value lhs, Value rhs) {
  std::optional<int64_t> a = known(lhs), b = known(rhs);
  if (a && b)
    return integer(lhs.getType(), *a * *b);
  if (a == 0 || b == 1)
    return lhs;
  return a == 1 || b == 0 ? rhs : binary<arith::MulIOp>(lhs, rhs);
}

Value Emitter::clamp(Value value, Value most) { return binary<arith::MinSIOp>(larger(value, 0), most); }

Value Emitter::bitAnd(Value lhs, int64_t rhs) {
  if (std::optional<int64_t> a = known(lhs))
    return integer(lhs.getType(), *a & rhs);
  return binary<arith::AndIOp>(lhs, integer(lhs.getType(), rhs));
}

Value Emitter::bitXor(Value lhs, Value rhs) {
  std::optional<int64_t> a = known(lhs), b = known(rhs);
  if (a && b)
    return integer(lhs.getType(), *a ^ *b);
  if (a == 0)
    return rhs;
  return b == 0 ? lhs : binary<arith::XOrIOp>(lhs, rhs);
}

Value Emitter::shiftRight(Value lhs, int64_t bits) {
  if (bits == 0)
    return lhs;
  if (std::optional<int64_t> a = known(lhs))
    return integer(lhs.getType(), *a >> bits);
  return binary<arith::ShRUIOp>(lhs, integer(lhs.getType(), bits));
}

Value Emitter::divide(Value lhs, int64_t rhs) {
  if (isPowerOf2(rhs))
    return shiftRight(lhs, log2Floor(rhs));
  if (std::optional<int64_t> a = known(lhs))
    return integer(lhs.getType(), *a / rhs);
  return binary<arith::DivUIOp>(lhs, integer(lhs.getType(), rhs));
}

Value Emitter::remainder(Value lhs, int64_t rhs) {
  if (isPowerOf2(rhs))
    return bitAnd(lhs, rhs - 1);
  if (std::optional<int64_t> a = known(lhs))
    return integer(lhs.getType(), *a % rhs);
  return binary<arith::RemUIOp>(lhs, integer(lhs.getType(), rhs));
}

Value Emitter::extend(Value value) {
  if (value.getType().isInteger(64))
    return value;
  if (std::optional<int64_t> a = known(value))
    return i64(*a);
  return arith::ExtSIOp::create(*this, getI64Type(), value);
}

Value Emitter::isEqual(Value lhs, int64_t rhs) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, lhs, integer(lhs.getType(), rhs));
}

Value Emitter::isBelow(Value lhs, Value rhs) {
  std::optional<int64_t> a = known(lhs), b = known(rhs);
  if (a && b)
    return i1(uint64_t(*a) < uint64_t(*b));
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, lhs, rhs);
}

Value Emitter::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return lhs == rhs ? lhs : binary<arith::AndIOp>(lhs, rhs);
}

Value Emitter::select(Value condition, Value yes, Value no) {
  return yes == no ? yes : arith::SelectOp::create(*this, condition, yes, no).getResult();
}

Value Emitter::offset(Value pointer, Value bytes) { return element(pointer, getI8Type(), bytes); }
Value Emitter::offset(Value pointer, int64_t bytes) { return element(pointer, getI8Type(), bytes); }

Value Emitter::element(Value pointer, Type element, Value index) {
  if (std::optional<int64_t> value = known(index))
    return this->element(pointer, element, *value);
  return LLVM::GEPOp::create(*this, pointer.getType(), element, pointer, ValueRange{index});
}

Value Emitter::element(Value pointer, Type element, int64_t index) {
  if (index == 0)
    return pointer;
  return LLVM::GEPOp::create(*this, pointer.getType(), element, pointer, LLVM::GEPArg(int32_t(index)));
}

Value Emitter::splat(Value scalar, int64_t registers) {
  return vector::BroadcastOp::create(*this, vectorOf(registers, scalar.getType()), scalar);
}

Value Emitter::extract(Value vector, int64_t reg) { return vector::ExtractOp::create(*this, vector, reg); }

Value Emitter::pack(ArrayRef<Value> scalars) {
  return vector::FromElementsOp::create(*this, vectorOf(int64_t(scalars.size()), scalars[0].getType()),
                                        scalars);
}

Value Emitter::pick(Value vector, ArrayRef<int64_t> registers) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  bool same = int64_t(registers.size()) == count;
  for (auto [i, reg] : llvm::enumerate(registers))
    same &= int64_t(i) == reg;
  return same ? vector : vector::ShuffleOp::create(*this, vector, vector, registers).getResult();
}

Value Emitter::piece(Value vector, int64_t first, int64_t count) {
  return pick(vector, llvm::to_vector(llvm::seq(first, first + count)));
}

Value Emitter::join(ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors[0];
  SmallVector<Value> scalars;
  for (Value vector : vectors)
    for (int64_t reg : llvm::seq(cast<VectorType>(vector.getType()).getNumElements()))
      scalars.push_back(extract(vector, reg));
  return pack(scalars);
}

Value Emitter::recast(Value vector, Type element) {
  auto type = cast<VectorType>(vector.getType());
  if (type.getElementType() == element)
    return vector;
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return vector::BitCastOp::create(*this, vectorOf(bits / element.getIntOrFloatBitWidth(), element), vector);
}

void Emitter::when(Value predicate, function_ref<void()> body) {
  if (!predicate)
    return body();
  auto branch = scf::IfOp::create(*this, predicate, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

void Emitter::choose(Value predicate, function_ref<void()> yes, function_ref<void()> no) {
  if (!predicate)
    return yes();
  auto branch = scf::IfOp::create(*this, predicate, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  yes();
  setInsertionPointToStart(branch.elseBlock());
  no();
}
