// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands of instructions.
#include "runtime/emulator/ptx/ParserState.h"
#include "runtime/support/Excerpt.h"

namespace tlc::emulator {

namespace {
/// Operand nesting beyond this is not PTX; it would exhaust the stack.
constexpr int maximumDepth = 8;
} // namespace

Result<Operand> Parser::word(Function &function) {
  const std::string_view name = take().text;
  Operand result;
  if (name == "_") {
    result.kind = Operand::Kind::sink;
  } else if (auto reg = findRegister(name)) {
    result.kind = Operand::Kind::reg;
    result.reg = *reg;
  } else if (const Scope::Range vector = findVector(name); vector.count != 0) {
    result.kind = Operand::Kind::vector;
    for (uint32_t i = 0; i < vector.count; ++i) {
      Operand &element = result.elements.emplace_back();
      element.kind = Operand::Kind::reg;
      element.reg = vector.first + i;
    }
  } else if (const auto element = findElement(name)) {
    result.kind = Operand::Kind::reg;
    result.reg = *element;
  } else {
    const size_t dot = name.rfind('.');
    const auto part = dot == std::string_view::npos ? std::nullopt : findRegister(name.substr(0, dot));
    if (part) {
      result.kind = Operand::Kind::reg;
      result.reg = *part;
      result.selector = name.substr(dot + 1);
    } else {
      result.kind = Operand::Kind::symbol;
      result.name = findVariable(name);
    }
  }
  if (accept("|")) {
    auto other = expectWord("a register after '|'");
    if (!other)
      return other.error();
    if (*other != "_") {
      result.second = findRegister(*other);
      if (!result.second)
        return failure(formatMessage("unknown register '{}' in '{}'", *other, function.name));
    }
  }
  return result;
}

Result<Operand> Parser::list(Function &function, Operand::Kind kind, std::string_view close) {
  Operand result;
  result.kind = kind;
  take();
  if (accept(close))
    return result;
  do {
    auto element = operand(function);
    if (!element)
      return element.error();
    result.elements.push_back(std::move(*element));
  } while (accept(","));
  if (auto closed = expect(close); !closed)
    return closed.error();
  return result;
}

Result<Operand> Parser::operand(Function &function) {
  const Nested nested(operandDepth);
  if (operandDepth > maximumDepth)
    return failure("operands are nested too deeply");
  const Token token = peek();
  if (token.is("{"))
    return list(function, Operand::Kind::vector, "}");
  if (token.is("[")) {
    auto address = list(function, Operand::Kind::address, "]");
    if (address && address->elements.empty())
      return failure("an address is empty");
    return address;
  }
  // Before a constant they belong to its expression.
  const bool beforeName = peek(1).kind == Token::Kind::word && !isConstantName(peek(1));
  if (token.is("!") && beforeName) {
    take();
    auto inner = operand(function);
    if (inner)
      inner->negated = !inner->negated;
    return inner;
  }
  if (token.is("-") && beforeName) {
    take();
    auto inner = word(function);
    if (inner)
      inner->minus = true;
    return inner;
  }
  if (token.kind != Token::Kind::word || isConstantName(token))
    return constantOperand();
  auto result = word(function);
  if (!result)
    return result;
  auto plus = offset();
  if (!plus)
    return plus.error();
  result->offset = *plus;
  return result;
}

} // namespace tlc::emulator
