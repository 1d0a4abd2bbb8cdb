// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions of elements: what they are, and how far the compiled program's may lie from that. The bounds are
/// those of docs/dsl.md, not what some lowering happens to compute.
#pragma once

#include "compiler/evaluator/Numbers.h"

namespace tlc::evaluator {

enum class Function : uint8_t {
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sqrt,
  rsqrt,
  sin,
  cos,
  tan,
  atan,
  tanh,
  erf,
  floor,
  ceil,
  round,
  trunc,
};
enum class Accuracy : uint8_t { accurate, fast };

Element apply(const Kind &kind, Function function, const Element &x, Accuracy accuracy = Accuracy::accurate);
/// x to the power of y.
Element power(const Kind &kind, const Element &x, const Element &y, Accuracy accuracy = Accuracy::accurate);
/// a b + c, rounded once.
Element multiplyAdd(const Kind &kind, const Element &a, const Element &b, const Element &c);
/// Open where the sign of a zero or of a NaN decides, neither of which is part of a number here.
Element copySign(const Kind &kind, const Element &magnitude, const Element &sign);

} // namespace tlc::evaluator
