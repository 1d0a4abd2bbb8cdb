// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations that work on each element by itself: on vectors what they were on tensors.
#include "compiler/analysis/PositionRanges.h"
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "runtime/support/Math.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
LogicalResult lowerConstant(KernelLowering &k, arith::ConstantOp op) {
  Type type = k.typeOf(op.getType());
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue())) {
    if (!dense.isSplat())
      return op.emitOpError()
             << "expected one number for all elements because which element a thread has is decided by "
                "the layout, but got several; load them from a tensor";
    auto vector = cast<VectorType>(type);
    if (isa<FloatType>(dense.getElementType()) && !isComputed(dense.getElementType())) {
      APInt bits = dense.getSplatValue<APFloat>().bitcastToAPInt().zext(vector.getElementTypeBitWidth());
      k.set(op, k.b.constant(DenseElementsAttr::get(vector, bits)));
    } else if (vector.getElementType().isInteger()) {
      APInt value = dense.getSplatValue<APInt>().sextOrTrunc(vector.getElementTypeBitWidth());
      k.set(op, k.b.constant(DenseElementsAttr::get(vector, value)));
    } else {
      k.set(op, k.b.constant(DenseElementsAttr::get(vector, dense.getSplatValue<APFloat>())));
    }
    return success();
  }
  if (op.getType().isIndex()) {
    // Positions wrap around at 32 bits, those that were folded, too.
    k.set(op, k.b.i32(static_cast<int32_t>(cast<IntegerAttr>(op.getValue()).getInt())));
    return success();
  }
  if (isa<FloatType>(op.getType()) && !isComputed(op.getType())) {
    APInt bits = cast<FloatAttr>(op.getValue()).getValue().bitcastToAPInt();
    k.set(op, k.b.constant(k.b.getIntegerAttr(type, bits.zext(type.getIntOrFloatBitWidth()))));
    return success();
  }
  if (isPacked(op.getType())) {
    APInt value = cast<IntegerAttr>(op.getValue()).getValue();
    k.set(op, k.b.constant(k.b.getIntegerAttr(type, value.sext(type.getIntOrFloatBitWidth()))));
    return success();
  }
  k.set(op, k.b.constant(cast<TypedAttr>(op.getValue())));
  return success();
}

/// Casts between index, which is 32 bits, and integers.
Value castIndex(KernelLowering &k, Operation &op, bool isSigned) {
  Value value = k.value(op.getOperand(0));
  Type to = k.typeOf(op.getResult(0).getType());
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  unsigned width = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  if (width == from)
    return value;
  if (width < from)
    return arith::TruncIOp::create(k.b, to, value);
  return isSigned ? arith::ExtSIOp::create(k.b, to, value).getResult()
                  : arith::ExtUIOp::create(k.b, to, value).getResult();
}

/// A quotient that the machine rounds towards zero, rounded up.
Value ceilDivide(Emitter &b, Value lhs, Value rhs) {
  Type type = lhs.getType();
  auto compare = [&](arith::CmpIPredicate predicate, Value value) {
    return arith::CmpIOp::create(b, predicate, value, b.integer(type, 0)).getResult();
  };
  auto add = [&](Value quotient, Value isTooSmall) {
    return b.add(quotient, arith::ExtUIOp::create(b, type, isTooSmall));
  };
  std::optional<int64_t> divisor = Emitter::known(rhs);
  if (divisor && *divisor > 0 && isPowerOf2(*divisor))
    return add(arith::ShRSIOp::create(b, lhs, b.integer(type, log2Floor(*divisor))),
               compare(arith::CmpIPredicate::ne, b.bitAnd(lhs, *divisor - 1)));
  Value quotient = arith::DivSIOp::create(b, lhs, rhs), rest = arith::RemSIOp::create(b, lhs, rhs);
  if (divisor && *divisor > 0)
    return add(quotient, compare(arith::CmpIPredicate::sgt, rest));
  Value alike = compare(arith::CmpIPredicate::sge, arith::XOrIOp::create(b, rest, rhs));
  return add(quotient, b.both(compare(arith::CmpIPredicate::ne, rest), alike));
}

/// One rounded down.
Value floorDivide(Emitter &b, Value lhs, Value rhs) {
  Value quotient = arith::DivSIOp::create(b, lhs, rhs), rest = arith::RemSIOp::create(b, lhs, rhs);
  Value zero = b.integer(lhs.getType(), 0);
  auto compare = [&](arith::CmpIPredicate predicate, Value value) {
    return arith::CmpIOp::create(b, predicate, value, zero).getResult();
  };
  Value opposite = compare(arith::CmpIPredicate::slt, arith::XOrIOp::create(b, lhs, rhs));
  Value down = b.both(compare(arith::CmpIPredicate::ne, rest), opposite);
  return b.select(down, arith::SubIOp::create(b, quotient, b.integer(lhs.getType(), 1)), quotient);
}

/// Whether a position is at least `least`, if no divisor on the way to it is 0.
bool isAtLeast(int64_t least, Value position) {
  tile::PositionRange range = tile::PositionRanges().of(position);
  return range.min >= least && range.condition != tile::RangeCondition::nothingNeedsMoreBits;
}

/// A divisor, or 1 instead of 0: the language gives a quotient by 0 some number, but LLVM concludes that the
/// code does not run.
Value divisorOf(KernelLowering &k, Value source) {
  Emitter &b = k.b;
  Value divisor = k.value(source);
  if (matchPattern(source, m_NonZero()) || isAtLeast(1, source))
    return divisor;
  if (isAtLeast(0, source))
    return b.larger(divisor, 1);
  Type type = divisor.getType();
  Value isZero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, divisor, b.integer(type, 0));
  return b.select(isZero, b.integer(type, 1), divisor);
}

Value expandDivision(KernelLowering &k, Operation &op) {
  Emitter &b = k.b;
  Value lhs = k.value(op.getOperand(0)), rhs = divisorOf(k, op.getOperand(1));
  Type type = lhs.getType();
  if (isa<arith::FloorDivSIOp>(op))
    return floorDivide(b, lhs, rhs);
  bool isIndex = getElementTypeOrSelf(op.getOperand(0).getType()).isIndex();
  if (isa<arith::CeilDivSIOp>(op) &&
      !(isIndex && isAtLeast(0, op.getOperand(0)) && isAtLeast(0, op.getOperand(1))))
    return ceilDivide(b, lhs, rhs);
  // An index and its divisor are below 2^31, so that their sum fits unsigned.
  Value zero = b.integer(type, 0), one = b.integer(type, 1);
  if (isIndex) {
    if (std::optional<int64_t> divisor = Emitter::known(rhs); divisor && *divisor > 0)
      return b.divide(b.add(lhs, *divisor - 1), *divisor);
    Value sum = arith::AddIOp::create(b, lhs, arith::SubIOp::create(b, rhs, one));
    return arith::DivUIOp::create(b, sum, rhs);
  }
  Value isZero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lhs, zero);
  Value rounded = arith::DivUIOp::create(b, arith::SubIOp::create(b, lhs, one), rhs);
  return b.select(isZero, zero, arith::AddIOp::create(b, rounded, one));
}
} // namespace

static LogicalResult lowerElementwise(KernelLowering &k, Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return lowerConstant(k, constant);
  bool elementwise = op.getNumResults() == 1 && op.getNumRegions() == 0;
  auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat() || isa<RankedTensorType>(type); };
  if (!elementwise || !llvm::all_of(op.getOperandTypes(), isNumber) || !isNumber(op.getResult(0).getType()))
    return op.emitOpError()
           << "expected an operation of the phase 'planned': tile, scf, or arith and math on numbers "
              "and fragments, but got another";
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    k.set(op.getResult(0), castIndex(k, op, isa<arith::IndexCastOp>(op)));
    return success();
  }
  if (isa<arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op)) {
    k.set(op.getResult(0), expandDivision(k, op));
    return success();
  }
  Type source = op.getNumOperands() == 1 ? getElementTypeOrSelf(op.getOperand(0)) : Type();
  if (isa<CastOpInterface>(op) && !isa<arith::BitcastOp>(op) && toElementType(source) &&
      toElementType(getElementTypeOrSelf(op.getResult(0))))
    return op.emitOpError()
           << "expected elements to be converted by 'tile.convert', but got another operation";
  auto isOnlyConverted = [](Type type) { return !isComputed(type); };
  if (!isa<arith::SelectOp, arith::BitcastOp>(op) &&
      (llvm::any_of(op.getOperandTypes(), isOnlyConverted) || isOnlyConverted(op.getResult(0).getType())))
    return op.emitOpError() << "expected numbers that the machine computes with, but got "
                            << getElementTypeOrSelf(op.getOperand(0)) << "; convert them to f32";
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, k.value(operand));
  // Positions without a sign are the compiler's own, and their divisors not 0.
  bool isPosition = getElementTypeOrSelf(op.getResult(0).getType()).isIndex();
  if (isa<arith::DivSIOp, arith::RemSIOp>(op) || (isa<arith::DivUIOp, arith::RemUIOp>(op) && !isPosition))
    mapping.map(op.getOperand(1), divisorOf(k, op.getOperand(1)));
  Operation *copy = k.b.insert(op.clone(mapping));
  copy->getResult(0).setType(k.typeOf(op.getResult(0).getType()));
  k.set(op.getResult(0), copy->getResult(0));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::SplatOp op) {
  int64_t registers = k.layoutOf(op.getResult().getType()).registersPerThread();
  Value value = k.value(op.getValue());
  // A constant vector, so that what is known of it stays known.
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    value = k.b.constant(DenseElementsAttr::get(k.b.vectorOf(registers, value.getType()),
                                                ArrayRef<Attribute>(constant.getValue())));
  else
    value = k.b.splat(value, registers);
  k.set(op.getResult(), value);
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::CoordinatesOp op) {
  const FragmentLayout &layout = k.layoutOf(op.getResult().getType());
  size_t axis = size_t(op.getAxis());
  SmallVector<int32_t> constants;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    constants.push_back(int32_t(layout.coordinatesOf({reg, 0, 0})[axis]));
  Value thread = threadCoordinates(k.b, layout, k.team)[axis];
  VectorType type = k.b.vectorOf(int64_t(constants.size()), k.b.getI32Type());
  Value offsets = k.b.constant(DenseElementsAttr::get(type, ArrayRef<int32_t>(constants)));
  k.set(op.getResult(), arith::AddIOp::create(k.b, k.b.splat(thread, type.getNumElements()), offsets));
  return success();
}

void lowering::addElementwiseLowerings(LoweringTable &table) {
  table.addDialect<arith::ArithDialect>(lowerElementwise);
  table.addDialect<math::MathDialect>(lowerElementwise);
  table.add<tile::SplatOp>(lowerOp);
  table.add<tile::CoordinatesOp>(lowerOp);
}
