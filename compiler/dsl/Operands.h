// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands of elementwise operations, on their way to common extents and one element type.
#pragma once

#include "compiler/dsl/Arithmetic.h"

#pragma GCC visibility push(hidden) // not for those who link libtlc
namespace tlc::dsl::inline v1 {

Sign signOf(mlir::Type type);

/// Operands of one elementwise operation.
class Operands {
public:
  Operands(Trace &trace, llvm::StringRef operation, Loc loc) : trace(trace), operation(operation), loc(loc) {}

  void add(const Operand &operand);
  /// A condition takes part in the extents but not in the element type.
  void addCondition(mlir::Value value);
  /// False after a mistake, which is reported.
  bool unify();

  /// Integers without a sign as bits of those with one.
  mlir::Value operator[](size_t i) const { return entries[i].value; }
  mlir::Value condition() const { return conditions.front(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element); }
  Sign sign() const { return signOf(element); }
  /// What was computed of the operands, with their element type.
  FragmentValue result(mlir::Value value);

  /// Whether the element type has the operation; if not, an error.
  bool checkHas(Arithmetic kind);
  /// Whether it has the operation with this number on the right; if not, an error.
  bool checkRight(Arithmetic kind, const Constant &number);
  /// As `checkHas`, of an operation of floating point.
  bool checkFloat();

private:
  struct Entry {
    mlir::Value value; ///< null for a C++ number
    std::optional<Constant> number = {};
  };

  bool meet(mlir::Value value);
  bool checkElement(mlir::Value typed, mlir::Value value);
  bool complete(Entry &entry);
  mlir::Value constant(const Constant &number);
  bool fail(llvm::StringRef expected, ElementType cure);

  Trace &trace;
  llvm::StringRef operation;
  Loc loc;
  bool good = true;
  llvm::SmallVector<Entry> entries;
  llvm::SmallVector<mlir::Value> conditions;
  mlir::Value first; ///< the first fragment
  llvm::SmallVector<int64_t> extents;
  mlir::Type element;
};

/// Element by element.
FragmentValue binary(Arithmetic kind, const Operand &a, const Operand &b, Loc loc);
FragmentValue negate(const Operand &x, Loc loc);

} // namespace tlc::dsl::inline v1
#pragma GCC visibility pop
