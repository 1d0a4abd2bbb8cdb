// SPDX-License-Identifier: Apache-2.0
/// \file
/// The evaluator: an interpreter of phase `input` that computes each operation
/// as its documentation says, element by element, without layouts or threads.
/// Each number has a bound on its distance from the compiled program's.
/// docs/evaluator.md has the rules.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/support/ElementType.h"
#include "runtime/support/Result.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace tlc::evaluator {

/// One number. Of floating point it is `value`, of integers, positions and truth values `integer`.
struct Element {
  double value = 0;
  int64_t integer = 0; ///< of a float: what was rounded to it, or 0
  /// How far from this the compiled program's number may be; 0: it is the same, NaN for NaN (the sign of a
  /// zero is not part of it). Infinite: the language does not say which number it is. Of integers 0 or
  /// infinite.
  double bound = 0;
  bool defined = false; ///< false: nothing has been written here
};

struct Tensor {
  ElementType type = ElementType::f32;
  std::vector<int64_t> extents;
  /// Row-major, outermost axis first. Where elements lie in memory is no part of the meaning, but of members.
  std::vector<Element> elements;
  /// The tensors at the addresses of a table, whose elements mean nothing. One without extents is missing.
  std::vector<Tensor> members = {};
  /// Of a member, in elements, the last one 1; left out: it is contiguous.
  std::vector<int64_t> strides = {};
};

struct Arguments {
  /// Inputs, outputs and inouts in the order of the program's arguments; the evaluator makes the workspaces.
  /// Undefined elements may not be read; those of outputs usually are undefined.
  std::vector<Tensor> tensors;
  /// Numbers in the order of the program's arguments.
  std::vector<Element> scalars;
};

struct Options {
  int64_t multiprocessors = 132;      ///< of the device that the program is launched on
  uint64_t maximumSteps = 10'000'000; ///< operations of a program; one on a fragment counts once
};

/// Results of an evaluation besides the tensors.
struct Report {
  uint64_t steps = 0;
  /// Comparisons whose operands lie within each other's bounds, so that the compiled program may get the
  /// other result. Each place once, as "file:line:column: ...". Bounds of values selected by them cover both
  /// results.
  std::vector<std::string> ambiguities;
  /// Texts of `print`, and of checks that fail, block after block, as the launcher words them but without
  /// threads. A check whose condition is ambiguous is no failure.
  std::vector<std::string> prints, failures;
};

/// Runs all launches of a module in phase `input` and updates the tensors; an error leaves them unspecified.
/// An error has the location of
/// - an undefined operation of the program: it reads an element that has never been written, blocks write
///   different numbers to one element, or roles wait for each other,
/// - a branch, position or limit that follows from an inexact number,
/// - an operation without a rule.
Result<Report> evaluate(mlir::ModuleOp module, Arguments &arguments, const Options &options = {});

/// The same on several ranks at once, each with arguments of its own: symmetric tensors have one shape on
/// all.
Result<Report> evaluate(mlir::ModuleOp module, llvm::MutableArrayRef<Arguments> ranks,
                        const Options &options = {});

/// Whether the evaluator has a rule for operations of that name, such as "tile.copy".
bool hasRule(llvm::StringRef operation);

/// The number nearest to `value` in the element type, of two the even one. What is too large becomes
/// infinite, or the largest number of a type without infinities.
double roundTo(ElementType type, double value);

/// A number that was written. Of integer types the value is whole.
inline Element elementOf(ElementType type, double value) {
  return isInteger(type) ? Element{.integer = static_cast<int64_t>(value), .defined = true}
                         : Element{.value = roundTo(type, value), .defined = true};
}

/// Whether a program that computes `actual` where `expected` was evaluated is right. Elements of integer
/// types are compared by `integer`, others by `value`.
inline bool agrees(ElementType type, const Element &expected, const Element &actual) {
  if (std::isinf(expected.bound))
    return true;
  if (isInteger(type))
    return expected.integer == actual.integer;
  if (std::isnan(expected.value) || std::isnan(actual.value))
    return std::isnan(expected.value) && std::isnan(actual.value);
  return expected.value == actual.value || std::abs(expected.value - actual.value) <= expected.bound;
}

} // namespace tlc::evaluator
