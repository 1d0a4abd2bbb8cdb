// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic on traced values, numbers and fragments alike: which operation of
/// `arith` it is follows from the element type.
#pragma once

#include "compiler/dsl/Trace.h"

#pragma GCC visibility push(hidden) // not for those who link libtlc
namespace tlc::dsl::inline v1 {

enum class Arithmetic : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  ceilDiv,
  min,
  max,
  minOrNaN,
  maxOrNaN,
  bitAnd,
  bitOr,
  bitXor,
  shiftLeft,
  shiftRight,
};
enum class Comparison : uint8_t { less, lessOrEqual, equal, different };

/// As the user wrote it, for messages.
llvm::StringRef nameOf(Arithmetic kind);
llvm::StringRef nameOf(Comparison kind);

/// Extents that both fit by repeating axes of extent 1; nothing if they do not.
std::optional<llvm::SmallVector<int64_t>> commonExtents(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
/// Whether an operation is of integers only.
constexpr bool isOfIntegers(Arithmetic kind) {
  return kind == Arithmetic::remainder || kind >= Arithmetic::bitAnd;
}
/// Whether it is of floats only.
constexpr bool isOfFloats(Arithmetic kind) {
  return kind == Arithmetic::minOrNaN || kind == Arithmetic::maxOrNaN;
}
/// Whether the language has arithmetic on the value's numbers; if not, an error.
bool checkComputable(Trace &trace, mlir::Value value, llvm::StringRef operation, Loc loc);
/// Whether integers of an element type can be divided, or shifted, by a number; if not, an error.
bool checkRightOperand(Trace &trace, Arithmetic kind, int64_t number, ElementType element, Loc loc);
/// Whether integers have a sign. Those without one are computed with as bits of `signedType`.
enum class Sign : uint8_t { has, hasNot };
/// Both of one type, which has the operation.
mlir::Value arithmetic(Trace &trace, Arithmetic kind, mlir::Value a, mlir::Value b, Loc loc,
                       Sign sign = Sign::has);
mlir::Value compare(Trace &trace, Comparison kind, mlir::Value a, mlir::Value b, Loc loc,
                    Sign sign = Sign::has);
/// Element by element.
Predicate comparison(Comparison kind, const Operand &a, const Operand &b, Loc loc);
/// The value of a predicate, or null.
mlir::Value truth(Trace &trace, const Predicate &predicate, llvm::StringRef what, Loc loc);
/// As above, for one truth value and not one per element.
mlir::Value uniformTruth(Trace &trace, const Predicate &predicate, llvm::StringRef what, Loc loc,
                         llvm::StringRef cure = "choose between elements with where()");
/// The value, a number or a fragment, with another element type.
mlir::Value convert(Trace &trace, mlir::Value value, ElementType element, Conversion how, Loc loc);

} // namespace tlc::dsl::inline v1
#pragma GCC visibility pop
