// SPDX-License-Identifier: Apache-2.0
/// \file
/// A builder of per-thread code: constants once per kernel, integer arithmetic
/// that folds what is known, addresses, registers of a fragment.
#pragma once

#include "dialects/simt/Simt.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace tlc::lowering {

/// Emits at an insertion point with the location of the tile operation at hand.
class Emitter : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;

  /// `entry` is the kernel's first block: constants are placed at its start.
  Emitter(mlir::Location loc, mlir::Block *entry);

  Value constant(mlir::TypedAttr value);
  Value i1(bool value) { return constant(getBoolAttr(value)); }
  Value i32(int64_t value) { return constant(getI32IntegerAttr(int32_t(value))); }
  Value i64(int64_t value) { return constant(getI64IntegerAttr(value)); }
  Value zero(Type type) { return constant(getZeroAttr(type)); }
  /// An integer of the type, repeated where it is a vector.
  Value integer(Type type, int64_t value);
  /// The value of an integer constant.
  static std::optional<int64_t> known(Value value);

  // Integers, 32 or 64 bits; both operands have one type.
  Value add(Value lhs, Value rhs);
  Value add(Value lhs, int64_t rhs) { return add(lhs, integer(lhs.getType(), rhs)); }
  Value mul(Value lhs, Value rhs);
  Value mul(Value lhs, int64_t rhs) { return mul(lhs, integer(lhs.getType(), rhs)); }
  Value sub(Value lhs, Value rhs) { return binary<mlir::arith::SubIOp>(lhs, rhs); }
  Value smaller(Value lhs, Value rhs) { return binary<mlir::arith::MinUIOp>(lhs, rhs); } ///< unsigned
  Value larger(Value lhs, int64_t rhs) {                                                 ///< signed
    return binary<mlir::arith::MaxSIOp>(lhs, integer(lhs.getType(), rhs));
  }
  /// Signed: between 0 and `most`.
  Value clamp(Value value, Value most);
  Value bitAnd(Value lhs, int64_t rhs);
  Value bitXor(Value lhs, Value rhs);
  Value shiftRight(Value lhs, int64_t bits);
  /// Unsigned.
  Value divide(Value lhs, int64_t rhs);
  Value remainder(Value lhs, int64_t rhs);
  /// Sign-extends to 64 bits.
  Value extend(Value value);

  // Predicates. An absent one is true.
  Value isEqual(Value lhs, int64_t rhs);
  Value isBelow(Value lhs, Value rhs); ///< unsigned
  Value both(Value lhs, Value rhs);
  Value select(Value condition, Value yes, Value no);

  // Addresses.
  Value offset(Value pointer, Value bytes);
  Value offset(Value pointer, int64_t bytes);
  /// `index` elements of `element` further.
  Value element(Value pointer, Type element, Value index);
  Value element(Value pointer, Type element, int64_t index);

  // Fragments: vectors of a thread's registers.
  mlir::VectorType vectorOf(int64_t registers, Type element) {
    return mlir::VectorType::get({registers}, element);
  }
  Value splat(Value scalar, int64_t registers);
  Value extract(Value vector, int64_t reg);
  Value pack(mlir::ArrayRef<Value> scalars);
  /// The registers named, in that order.
  Value pick(Value vector, mlir::ArrayRef<int64_t> registers);
  /// Registers first, first + 1, ..., first + count - 1.
  Value piece(Value vector, int64_t first, int64_t count);
  Value join(mlir::ArrayRef<Value> vectors);
  /// The same bits as elements of another width.
  Value recast(Value vector, Type element);

  /// Emits `body` for the threads that satisfy the predicate.
  void when(Value predicate, mlir::function_ref<void()> body);
  /// Emits `yes` for the threads that satisfy the predicate, `no` for the others.
  void choose(Value predicate, mlir::function_ref<void()> yes, mlir::function_ref<void()> no);

private:
  template <typename Op> Value binary(Value lhs, Value rhs) {
    return Op::create(*this, lhs, rhs).getResult();
  }

  mlir::Block *entry;
  llvm::DenseMap<mlir::Attribute, Value> constants;
};

} // namespace tlc::lowering
