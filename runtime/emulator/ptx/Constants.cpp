// SPDX-License-Identifier: Apache-2.0
/// \file
/// Constant expressions: C's operators with C's precedence on signed and
/// unsigned integers of 64 bits and on doubles. Where the manual and ptxas
/// differ, as ptxas has it.
#include "runtime/emulator/ptx/ParserState.h"
#include "runtime/target/Hardware.h"

#include <fmt/format.h>
#include <optional>

namespace tlc::emulator {

namespace {

/// Expressions inside expressions; deeper ones would exhaust the stack.
constexpr int maximumDepth = 64;
/// The predefined constant that is a word.
constexpr std::string_view warpSizeName = "WARP_SZ";
constexpr uint64_t warpSizeValue = lanesPerWarp;

enum class Operator : uint8_t {
  logicalOr,
  logicalAnd,
  bitOr,
  bitXor,
  bitAnd,
  equal,
  notEqual,
  less,
  greater,
  lessEqual,
  greaterEqual,
  shiftLeft,
  shiftRight,
  add,
  subtract,
  multiply,
  divide,
  remainder,
};

struct OperatorEntry {
  std::string_view text;
  Operator op;
  int level; ///< binds tighter the higher
};
constexpr OperatorEntry operators[] = {
    {"||", Operator::logicalOr, 1}, {"&&", Operator::logicalAnd, 2}, {"==", Operator::equal, 6},
    {"!=", Operator::notEqual, 6},  {"<=", Operator::lessEqual, 7},  {">=", Operator::greaterEqual, 7},
    {"<<", Operator::shiftLeft, 8}, {">>", Operator::shiftRight, 8}, {"|", Operator::bitOr, 3},
    {"^", Operator::bitXor, 4},     {"&", Operator::bitAnd, 5},      {"<", Operator::less, 7},
    {">", Operator::greater, 7},    {"+", Operator::add, 9},         {"-", Operator::subtract, 9},
    {"*", Operator::multiply, 10},  {"/", Operator::divide, 10},     {"%", Operator::remainder, 10},
};

using Kind = Constant::Kind;

Constant integer(Kind kind, uint64_t bits) { return {kind, bits, 0}; }
Constant truth(bool value) { return integer(Kind::s64, value); }
Constant real(double value) { return {Kind::f64, 0, value}; }

/// Of two numbers of one C type; nothing for what only integers have.
template <class T> std::optional<Constant> compare(Operator op, T a, T b) {
  switch (op) {
  case Operator::equal:
    return truth(a == b);
  case Operator::notEqual:
    return truth(a != b);
  case Operator::less:
    return truth(a < b);
  case Operator::greater:
    return truth(a > b);
  case Operator::lessEqual:
    return truth(a <= b);
  case Operator::greaterEqual:
    return truth(a >= b);
  default:
    return std::nullopt;
  }
}

std::optional<Constant> applyReal(Operator op, double a, double b) {
  switch (op) {
  case Operator::add:
    return real(a + b);
  case Operator::subtract:
    return real(a - b);
  case Operator::multiply:
    return real(a * b);
  case Operator::divide:
    return real(a / b);
  default:
    return compare(op, a, b);
  }
}

/// Unsigned if one of them is, and `b` is no zero that divides.
Constant applyInteger(Operator op, const Constant &left, const Constant &right) {
  const uint64_t a = left.bits, b = right.bits;
  const Kind kind = left.kind == Kind::u64 || right.kind == Kind::u64 ? Kind::u64 : Kind::s64;
  const bool isSigned = kind == Kind::s64;
  switch (op) {
  case Operator::logicalOr:
    return truth(a != 0 || b != 0);
  case Operator::logicalAnd:
    return truth(a != 0 && b != 0);
  case Operator::bitOr:
    return integer(kind, a | b);
  case Operator::bitXor:
    return integer(kind, a ^ b);
  case Operator::bitAnd:
    return integer(kind, a & b);
  case Operator::shiftLeft:
    return integer(left.kind, a << (b & 63));
  case Operator::shiftRight:
    return integer(left.kind, left.kind == Kind::s64 ? uint64_t(int64_t(a) >> (b & 63)) : a >> (b & 63));
  case Operator::add:
    return integer(kind, a + b);
  case Operator::subtract:
    return integer(kind, a - b);
  case Operator::multiply:
    return integer(kind, a * b);
  case Operator::divide:
    if (isSigned && int64_t(b) == -1) // the least number has no opposite
      return integer(kind, 0 - a);
    return integer(kind, isSigned ? uint64_t(int64_t(a) / int64_t(b)) : a / b);
  case Operator::remainder:
    return integer(Kind::s64, a % b);
  default:
    return *(isSigned ? compare(op, int64_t(a), int64_t(b)) : compare(op, a, b));
  }
}

const OperatorEntry *operatorOf(const Token &token) {
  for (const OperatorEntry &entry : operators)
    if (token.is(entry.text))
      return &entry;
  return nullptr;
}

} // namespace

bool isConstantName(const Token &token) { return token.is(warpSizeName); }

bool Parser::atConstant() const {
  const Token &token = peek();
  switch (token.kind) {
  case Token::Kind::integer:
  case Token::Kind::real:
  case Token::Kind::floatBits:
    return true;
  default:
    return token.is("(") || token.is("+") || token.is("-") || token.is("!") || token.is("~") ||
           isConstantName(token);
  }
}

/// A literal, an expression in parentheses, or a unary operator or cast and what it applies to.
Result<Constant> Parser::unaryConstant() {
  const Nested nested(constantDepth);
  if (constantDepth > maximumDepth)
    return failure("a constant expression is nested too deeply");
  if (!atConstant())
    return failure(peek().kind == Token::Kind::end
                       ? "expected a constant, but the text ends"
                       : fmt::format("expected a constant, but got '{}'", peek().text));
  const Token token = take();
  if (token.kind == Token::Kind::integer)
    return integer(token.isUnsigned || int64_t(token.bits) < 0 ? Kind::u64 : Kind::s64, token.bits);
  if (token.kind == Token::Kind::real || token.kind == Token::Kind::floatBits)
    return real(token.value);
  if (isConstantName(token))
    return integer(Kind::s64, warpSizeValue);
  const bool toSigned = token.is("(") && peek().is(".s64"), toUnsigned = token.is("(") && peek().is(".u64");
  if (token.is("(") && !toSigned && !toUnsigned) {
    auto inner = constantExpression();
    if (inner)
      if (auto close = expect(")"); !close)
        return close.error();
    return inner;
  }
  if (toSigned || toUnsigned) {
    take();
    if (auto close = expect(")"); !close)
      return close.error();
  }
  auto inner = unaryConstant();
  if (!inner || token.is("+"))
    return inner;
  if (token.is("-"))
    return inner->kind == Kind::f64 ? real(-inner->value) : integer(inner->kind, 0 - inner->bits);
  if (inner->kind == Kind::f64)
    return failure(fmt::format("{} takes an integer, but got {}",
                               token.is("(") ? "a cast" : fmt::format("'{}'", token.text), inner->value));
  if (token.is("!"))
    return truth(inner->bits == 0);
  if (token.is("~"))
    return integer(Kind::u64, ~inner->bits);
  return integer(toSigned ? Kind::s64 : Kind::u64, inner->bits);
}

/// Operators of at least that level, from left to right.
Result<Constant> Parser::binaryConstant(int level) {
  auto left = unaryConstant();
  while (left) {
    const OperatorEntry *entry = operatorOf(peek());
    if (!entry || entry->level < level)
      break;
    take();
    auto right = binaryConstant(entry->level + 1);
    if (!right)
      return right;
    if ((left->kind == Kind::f64) != (right->kind == Kind::f64))
      return failure(fmt::format("'{}' takes two integers or two floating-point numbers, but got one of each",
                                 entry->text));
    if (left->kind == Kind::f64) {
      const auto result = applyReal(entry->op, left->value, right->value);
      if (!result)
        return failure(fmt::format("'{}' takes integers, but got {}", entry->text, left->value));
      left = *result;
      continue;
    }
    if (right->bits == 0 && (entry->op == Operator::divide || entry->op == Operator::remainder))
      return failure("a constant expression divides by zero");
    left = applyInteger(entry->op, *left, *right);
  }
  return left;
}

Result<Constant> Parser::constantExpression() {
  const Nested nested(constantDepth);
  auto condition = binaryConstant(1);
  if (!condition || !accept("?"))
    return condition;
  if (condition->kind == Kind::f64)
    return failure(
        fmt::format("expected the condition of '?:' to be an integer, but got {}", condition->value));
  auto ifTrue = constantExpression();
  if (!ifTrue)
    return ifTrue;
  if (auto colon = expect(":"); !colon)
    return colon.error();
  auto ifFalse = constantExpression();
  if (!ifFalse)
    return ifFalse;
  return condition->bits != 0 ? ifTrue : ifFalse;
}

Result<uint64_t> Parser::expectConstant(std::string_view what) {
  if (!atConstant())
    return failure(fmt::format("expected {}, but got '{}'", what, peek().text));
  auto value = constantExpression();
  if (!value)
    return value.error();
  if (value->kind == Kind::f64)
    return failure(fmt::format("expected {}, but got {}", what, value->value));
  return value->bits;
}

/// An operand: a constant expression, or one literal in the bits of an f32, which expressions do not take.
Result<Operand> Parser::constantOperand() {
  Operand result;
  if (peek().kind == Token::Kind::floatBits && peek().isSingle) {
    const Token token = take();
    result.kind = Operand::Kind::floatBits;
    result.bits = token.bits;
    result.value = token.value;
    return result;
  }
  if (!atConstant())
    return failure(peek().kind == Token::Kind::end
                       ? "expected an operand, but the text ends"
                       : fmt::format("expected an operand, but got '{}'", peek().text));
  auto value = constantExpression();
  if (!value)
    return value.error();
  result.kind = value->kind == Kind::f64 ? Operand::Kind::real : Operand::Kind::integer;
  result.bits = value->bits;
  result.value = value->value;
  return result;
}

/// `+ n`, or `- n`, after a register or a name.
Result<int64_t> Parser::offset() {
  if (!peek().is("-") && !accept("+"))
    return 0;
  auto value = expectConstant("an offset");
  if (!value)
    return value.error();
  return int64_t(*value);
}

} // namespace tlc::emulator
