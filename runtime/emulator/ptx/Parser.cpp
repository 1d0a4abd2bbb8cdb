// SPDX-License-Identifier: Apache-2.0
/// \file
/// Function bodies: registers, labels, instructions.
#include "runtime/emulator/ptx/Parser.h"

#include "runtime/emulator/ptx/ParserState.h"
#include "runtime/support/Excerpt.h"

#include <fmt/format.h>
#include <utility>

namespace tlc::emulator {

namespace {

constexpr uint32_t maximumRegisters = 1u << 17;
constexpr uint64_t maximumRegistersOfModule = uint64_t(1) << 22;
/// Braces inside braces; every name is looked up through all of them.
constexpr int maximumScopeDepth = 256;
/// What follows the dot of a vector's element: positions, or as well colours.
constexpr std::string_view vectorElements = "xyzw", vectorColours = "rgba";

} // namespace

std::string Statement::fullName() const {
  std::string text = name;
  for (const std::string &modifier : modifiers)
    text += '.' + modifier;
  return text;
}

Result<void> Parser::body(Function &function) {
  scopes.assign(1, Scope{});
  scope = 0;
  statementScopes.clear();
  targetScopes.clear();
  location = 0;
  if (auto open = expect("{"); !open)
    return open;
  for (int depth = 1; depth > 0;) {
    if (accept("{")) {
      if (depth == maximumScopeDepth)
        return failure(formatMessage("the braces of '{}' are nested too deeply", function.name));
      scopes.emplace_back().parent = scope;
      scope = int(scopes.size()) - 1;
      ++depth;
    } else if (accept("}")) {
      scope = scopes[scope].parent;
      --depth;
    } else if (auto done = bodyItem(function); !done) {
      return done;
    }
  }
  scope = -1;
  return resolveLabels(function);
}

Result<void> Parser::bodyItem(Function &function) {
  const Token &token = peek();
  if (token.kind == Token::Kind::end)
    return failure(formatMessage("expected '}}' of '{}', but the text ends", function.name));
  if (accept(";"))
    return {};
  if (token.is("@"))
    return instruction(function);
  if (token.kind != Token::Kind::word)
    return failure(formatMessage("expected an instruction, but got '{}'", token.text));
  if (peek(1).is(":")) {
    const std::string_view name = take().text;
    take();
    if (accept(".branchtargets")) {
      BranchTargets targets{std::string(name), {}};
      do {
        auto label = expectWord("a label");
        if (!label)
          return label.error();
        Operand target;
        target.kind = Operand::Kind::symbol;
        target.name = *label;
        targets.labels.push_back(std::move(target));
      } while (accept(","));
      function.branchTargets.push_back(std::move(targets));
      targetScopes.push_back(scope);
      return expect(";");
    }
    if (accept(".callprototype"))
      return callPrototype(function, name);
    if (peek().is(".calltargets"))
      return skipStatement();
    if (!scopes[scope].labels.emplace(name, function.body.size()).second)
      return failure(formatMessage("label '{}' is defined twice", name));
    return {};
  }
  if (!token.text.starts_with('.'))
    return instruction(function);
  take();
  if (token.text == ".reg")
    return registers(function);
  if (token.text == ".loc")
    return locationDirective();
  if (token.text == ".pragma")
    return skipStatement();
  if (token.text == ".local")
    return variables(StateSpace::local, false, function.locals);
  if (token.text == ".param")
    return variables(StateSpace::parameter, false, function.locals);
  if (token.text == ".shared")
    return variables(StateSpace::shared, false, function.locals);
  if (token.text == ".global")
    return variables(StateSpace::global, false, function.locals);
  return failure(formatMessage("unknown directive '{}'", token.text));
}

/// `name: .callprototype (results) _ (parameters);`
Result<void> Parser::callPrototype(Function &function, std::string_view name) {
  CallPrototype prototype;
  prototype.name = name;
  // Its parameters are no variables of the body.
  const int outer = std::exchange(scope, -1);
  if (peek().is("("))
    if (auto done = parameterList(prototype.results); !done)
      return done;
  if (auto placeholder = expect("_"); !placeholder)
    return placeholder;
  if (peek().is("("))
    if (auto done = parameterList(prototype.parameters); !done)
      return done;
  scope = outer;
  function.callPrototypes.push_back(std::move(prototype));
  return skipStatement(); // .noreturn and its kin
}

Result<void> Parser::registers(Function &function) {
  const uint32_t width = accept(".v2") ? 2 : accept(".v4") ? 4 : 1;
  auto word = expectWord("a register type");
  if (!word)
    return word.error();
  const auto type = word->starts_with('.') ? parseType(word->substr(1)) : std::nullopt;
  if (!type)
    return failure(formatMessage("expected a register type, but got '{}'", *word));
  do {
    auto name = expectWord("a register name");
    if (!name)
      return name.error();
    uint64_t count = width;
    const bool range = width == 1 && accept("<");
    if (range) {
      auto extent = expectInteger("the number of registers");
      if (!extent)
        return extent.error();
      count = *extent;
      if (auto close = expect(">"); !close)
        return close;
    }
    registerCount += std::min<uint64_t>(count, maximumRegistersOfModule);
    if (count > maximumRegisters || function.registers.size() + count > maximumRegisters ||
        registerCount > maximumRegistersOfModule)
      return failure(formatMessage("too many registers; the limit is {} of a function and {} of a module",
                                   maximumRegisters, maximumRegistersOfModule));
    const uint32_t first = uint32_t(function.registers.size());
    const bool isNew =
        range       ? scopes[scope].ranges.try_emplace(*name, Scope::Range{first, uint32_t(count)}).second
        : width > 1 ? scopes[scope].vectors.try_emplace(*name, Scope::Range{first, width}).second
                    : scopes[scope].registers.try_emplace(*name, first).second;
    if (!isNew)
      return failure(formatMessage("register '{}' is declared twice", *name));
    if (range) {
      for (uint64_t i = 0; i < count; ++i)
        function.registers.push_back({fmt::format("{}{}", *name, i), *type});
    } else if (width > 1) {
      for (uint32_t i = 0; i < width; ++i)
        function.registers.push_back({fmt::format("{}.{}", *name, vectorElements[i]), *type});
    } else {
      function.registers.push_back({std::string(*name), *type});
    }
  } while (accept(","));
  return expect(";");
}

Result<void> Parser::locationDirective() {
  uint64_t numbers[3];
  for (uint64_t &number : numbers) {
    auto value = expectInteger("a number after .loc");
    if (!value)
      return value.error();
    number = *value;
  }
  // `, function_name $L + 0, inlined_at 1 2 3`: the outermost place is where
  // the code was inlined, the first one is what the user wrote.
  while (accept(",")) {
    if (accept("function_name")) {
      take();
      if (accept("+"))
        take();
    } else if (accept("inlined_at")) {
      take(), take(), take();
    } else {
      return failure(formatMessage("unknown word '{}' in .loc", peek().text));
    }
  }
  location = uint32_t(module.locations.size());
  module.locations.push_back({"", unsigned(numbers[1]), unsigned(numbers[2])});
  locationFiles.push_back(numbers[0]);
  return {};
}

std::optional<uint32_t> Parser::findRegister(std::string_view name) const {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  uint64_t number = 0;
  for (char digit : name.substr(digits))
    number = std::min<uint64_t>(number * 10 + (digit - '0'), maximumRegisters);
  for (int i = scope; i >= 0; i = scopes[i].parent) {
    if (auto found = scopes[i].registers.find(name); found != scopes[i].registers.end())
      return found->second;
    if (digits == name.size())
      continue;
    auto range = scopes[i].ranges.find(name.substr(0, digits));
    if (range != scopes[i].ranges.end() && number < range->second.count)
      return range->second.first + uint32_t(number);
  }
  return std::nullopt;
}

/// Empty where there is no such vector.
Scope::Range Parser::findVector(std::string_view name) const {
  for (int i = scope; i >= 0; i = scopes[i].parent)
    if (auto found = scopes[i].vectors.find(name); found != scopes[i].vectors.end())
      return found->second;
  return {};
}

std::optional<uint32_t> Parser::findElement(std::string_view name) const {
  if (name.size() < 3 || name[name.size() - 2] != '.')
    return std::nullopt;
  const Scope::Range vector = findVector(name.substr(0, name.size() - 2));
  const size_t at = std::min(vectorElements.find(name.back()), vectorColours.find(name.back()));
  return at < vector.count ? std::optional(vector.first + uint32_t(at)) : std::nullopt;
}

std::string Parser::findVariable(std::string_view name) const {
  for (int i = scope; i >= 0; i = scopes[i].parent)
    if (auto found = scopes[i].variables.find(name); found != scopes[i].variables.end())
      return found->second;
  return std::string(name);
}

Result<void> Parser::instruction(Function &function) {
  Statement statement;
  statement.line = peek().line;
  statement.begin = size_t(peek().text.data() - text.data());
  statement.location = location;
  if (accept("@")) {
    statement.guardNegated = accept("!");
    auto name = expectWord("a predicate");
    if (!name)
      return name.error();
    statement.guard = findRegister(*name);
    if (!statement.guard || function.registers[*statement.guard].type != Type::pred)
      return failure(formatMessage("'{}' is not a predicate register", *name));
  }
  auto words = expectWord("an instruction");
  if (!words)
    return words.error();
  for (std::string_view rest = *words;;) {
    const size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    if (part.empty())
      return failure(formatMessage("expected an instruction, but got '{}'", *words));
    if (statement.name.empty())
      statement.name = part;
    else
      statement.modifiers.push_back(part);
    if (dot == std::string_view::npos)
      break;
    rest = rest.substr(dot + 1);
  }
  if (statement.name == "call") {
    if (auto done = callOperands(function, statement); !done)
      return done;
  } else if (!peek().is(";")) {
    do {
      auto next = operand(function);
      if (!next)
        return next.error();
      statement.operands.push_back(std::move(*next));
    } while (accept(","));
  }
  if (peek().is(";"))
    statement.end = size_t(peek().text.data() - text.data()) + 1;
  function.body.push_back(std::move(statement));
  statementScopes.push_back(scope);
  return expect(";");
}

Result<void> Parser::callOperands(Function &function, Statement &statement) {
  if (peek().is("(")) {
    if (auto done = callNames(statement.callResults); !done)
      return done;
    if (auto comma = expect(","); !comma)
      return comma;
  }
  auto callee = operand(function);
  if (!callee)
    return callee.error();
  statement.operands.push_back(std::move(*callee));
  if (!accept(","))
    return {};
  if (auto done = callNames(statement.callArguments); !done)
    return done;
  if (accept(",")) {
    auto prototype = expectWord("the prototype of an indirect call");
    if (!prototype)
      return prototype.error();
    statement.callPrototype = *prototype;
  }
  return {};
}

Result<void> Parser::callNames(std::vector<std::string> &names) {
  if (auto open = expect("("); !open)
    return open;
  while (!accept(")")) {
    auto name = expectWord("a parameter");
    if (!name)
      return name.error();
    names.push_back(findVariable(*name));
    if (!accept(",") && !peek().is(")"))
      return failure(formatMessage("expected ',' or ')', but got '{}'", peek().text));
  }
  return {};
}

Result<void> Parser::resolveLabel(Operand &operand, int from, unsigned line) const {
  for (int i = from; i >= 0; i = scopes[i].parent)
    if (auto found = scopes[i].labels.find(operand.name); found != scopes[i].labels.end()) {
      operand.kind = Operand::Kind::label;
      operand.bits = found->second;
      return {};
    }
  return Error{ErrorKind::invalidArgument,
               formatMessage("PTX line {}: unknown label '{}'", line, operand.name)};
}

Result<void> Parser::resolveLabels(Function &function) {
  for (size_t i = 0; i < function.body.size(); ++i) {
    Statement &statement = function.body[i];
    if (statement.name != "bra" || statement.operands.empty())
      continue;
    if (auto done = resolveLabel(statement.operands[0], statementScopes[i], statement.line); !done)
      return done;
  }
  for (size_t i = 0; i < function.branchTargets.size(); ++i)
    for (Operand &label : function.branchTargets[i].labels)
      if (auto done = resolveLabel(label, targetScopes[i], function.line); !done)
        return done;
  return {};
}

Result<Module> parseModule(std::string_view text) {
  auto tokens = tokenize(text);
  if (!tokens)
    return tokens.error();
  return Parser(text, std::move(*tokens)).run();
}

} // namespace tlc::emulator
