// SPDX-License-Identifier: Apache-2.0
/// \file
/// Module scope: variables, functions and their launch bounds.
#include "runtime/emulator/ptx/ParserState.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/CodeTarget.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace tlc::emulator {

namespace {

/// Values of launch bounds beyond this are a mistake in the text: products of four fit 64 bits.
constexpr uint64_t maximumBound = 0xFFFF;
/// Braces of an initialiser.
constexpr int maximumNesting = 32;
/// Larger variables are a mistake in the text.
constexpr uint64_t maximumVariableBytes = uint64_t(1) << 32;

std::optional<StateSpace> parseSpace(std::string_view word) {
  if (word == ".global")
    return StateSpace::global;
  if (word == ".const")
    return StateSpace::constant;
  if (word == ".shared")
    return StateSpace::shared;
  if (word == ".local")
    return StateSpace::local;
  if (word == ".param")
    return StateSpace::parameter;
  return std::nullopt;
}

} // namespace

bool Parser::accept(std::string_view text) {
  if (!peek().is(text))
    return false;
  take();
  return true;
}

Error Parser::failure(std::string what) const {
  return Error{ErrorKind::invalidArgument, fmt::format("PTX line {}: {}", peek().line, what)};
}

Result<void> Parser::expect(std::string_view text) {
  if (accept(text))
    return {};
  return failure(peek().kind == Token::Kind::end
                     ? formatMessage("expected '{}', but the text ends", text)
                     : formatMessage("expected '{}', but got '{}'", text, peek().text));
}

Result<std::string_view> Parser::expectWord(std::string_view what) {
  if (peek().kind != Token::Kind::word)
    return failure(formatMessage("expected {}, but got '{}'", what, peek().text));
  return take().text;
}

Result<uint64_t> Parser::expectInteger(std::string_view what) {
  if (peek().kind != Token::Kind::integer)
    return failure(formatMessage("expected {}, but got '{}'", what, peek().text));
  return take().bits;
}

Result<Module> Parser::run() {
  module.locations.emplace_back();
  locationFiles.push_back(0);
  while (peek().kind != Token::Kind::end)
    if (auto done = moduleItem(); !done)
      return done.error();
  if (module.target.empty())
    return failure("the module has no .target");
  for (size_t i = 1; i < module.locations.size(); ++i)
    if (auto file = files.find(locationFiles[i]); file != files.end())
      module.locations[i].file = file->second;
  return std::move(module);
}

Result<void> Parser::moduleItem() {
  if (accept(";"))
    return {};
  bool isExtern = false;
  while (true) {
    if (accept(".extern"))
      isExtern = true;
    else if (!accept(".visible") && !accept(".weak") && !accept(".common"))
      break;
  }
  if (peek().is(".version")) {
    take();
    const std::string_view text = peek().text;
    const size_t dot = text.find('.');
    const char *const end = text.data() + text.size();
    if (dot == std::string_view::npos || dot + 1 == text.size() ||
        std::from_chars(text.data(), end, module.versionMajor).ptr != text.data() + dot ||
        std::from_chars(text.data() + dot + 1, end, module.versionMinor).ptr != end)
      return failure(formatMessage("expected a version such as 8.0, but got '{}'", text));
    constexpr unsigned newestMajor = 9; // what its later minor versions add is refused by name
    if (module.versionMajor > newestMajor)
      return failure(
          fmt::format("expected .version {}.x or older, which the emulator knows, but got {}; have "
                      "the compiler emit an older one",
                      newestMajor, text));
    take();
    return {};
  }
  if (accept(".target")) {
    auto name = expectWord("a target");
    if (!name)
      return name.error();
    if (!parseCodeTarget(*name))
      return failure(formatMessage("unknown target '{}'", *name));
    module.target = *name;
    while (accept(","))
      take();
    return {};
  }
  if (accept(".address_size")) {
    auto size = expectInteger("an address size");
    if (!size)
      return size.error();
    return *size == 64 ? Result<void>()
                       : failure(formatMessage("expected .address_size 64, but got {}", *size));
  }
  if (accept(".file"))
    return fileDirective();
  if (accept(".section")) {
    take();
    return skipBraces();
  }
  if (accept(".pragma"))
    return skipStatement();
  if (accept(".alias"))
    return alias();
  if (accept(".entry"))
    return functionDeclaration(true);
  if (accept(".func"))
    return functionDeclaration(false);
  if (auto space = parseSpace(peek().text); space && peek().kind == Token::Kind::word) {
    take();
    return variables(*space, isExtern, module.variables);
  }
  return failure(formatMessage("unknown directive '{}'", peek().text));
}

Result<void> Parser::fileDirective() {
  auto number = expectInteger("a file number");
  if (!number)
    return number.error();
  if (peek().kind != Token::Kind::string)
    return failure("expected a file name in quotes");
  files[*number] = take().text;
  while (accept(","))
    take();
  return {};
}

Result<void> Parser::skipBraces() {
  if (auto open = expect("{"); !open)
    return open;
  for (int depth = 1; depth > 0; take()) {
    if (peek().kind == Token::Kind::end)
      return failure("expected '}', but the text ends");
    depth += peek().is("{") ? 1 : peek().is("}") ? -1 : 0;
  }
  return {};
}

Result<void> Parser::skipStatement() {
  while (!peek().is(";")) {
    if (peek().kind == Token::Kind::end)
      return failure("expected ';', but the text ends");
    take();
  }
  take();
  return {};
}

/// `.alias name, function;`
Result<void> Parser::alias() {
  auto name = expectWord("a function's name");
  if (!name)
    return name.error();
  if (auto comma = expect(","); !comma)
    return comma;
  auto meant = expectWord("a function's name");
  if (!meant)
    return meant.error();
  module.aliases[std::string(*name)] = *meant;
  return expect(";");
}

const Function *findFunction(const Module &module, std::string_view name) {
  if (auto alias = module.aliases.find(name); alias != module.aliases.end())
    name = alias->second;
  const auto found = module.functionOfName.find(name);
  return found == module.functionOfName.end() ? nullptr : &module.functions[found->second];
}

Result<void> Parser::functionDeclaration(bool isEntry) {
  Function function;
  function.isEntry = isEntry;
  function.line = peek().line;
  if (accept(".attribute"))
    while (!accept(")") && peek().kind != Token::Kind::end)
      take();
  if (!isEntry && peek().is("("))
    if (auto done = parameterList(function.results); !done)
      return done;
  auto name = expectWord("a function name");
  if (!name)
    return name.error();
  function.name = *name;
  if (peek().is("("))
    if (auto done = parameterList(function.parameters); !done)
      return done;
  while (!peek().is("{") && !peek().is(";"))
    if (auto done = launchBound(function); !done)
      return done;
  if (peek().is("{")) {
    function.hasBody = true;
    if (auto done = body(function); !done)
      return done;
  } else {
    take();
  }
  // A definition may follow its declaration.
  const auto [known, isNew] = module.functionOfName.try_emplace(function.name, module.functions.size());
  if (isNew) {
    module.functions.push_back(std::move(function));
    return {};
  }
  Function &other = module.functions[known->second];
  if (other.hasBody && function.hasBody)
    return failure(formatMessage("'{}' is defined twice", function.name));
  if (!other.hasBody)
    other = std::move(function);
  return {};
}

Result<void> Parser::launchBound(Function &function) {
  auto directive = expectWord("a function directive or '{'");
  if (!directive)
    return directive.error();
  if (*directive == ".pragma") {
    return skipStatement();
  }
  if (*directive == ".noreturn" || *directive == ".explicitcluster" || *directive == ".blocksareclusters")
    return {};
  std::array<unsigned, 3> values = {1, 1, 1};
  unsigned count = 0;
  do {
    auto value = expectInteger(formatMessage("a number after {}", *directive));
    if (!value)
      return value.error();
    if (count == 3 || *value > maximumBound)
      return failure(formatMessage("{} has too many or too large values", *directive));
    values[count++] = unsigned(*value);
  } while (accept(","));
  if (*directive == ".reqntid")
    function.requiredThreads = values;
  else if (*directive == ".maxntid")
    function.maximumThreads = values;
  else if (*directive == ".reqnctapercluster")
    function.requiredCluster = values;
  else if (*directive == ".minnctapersm")
    function.minimumBlocks = values[0];
  else if (*directive == ".maxnreg")
    function.maximumRegisters = values[0];
  else if (*directive != ".maxnctapersm" && *directive != ".maxclusterrank" &&
           *directive != ".abi_preserve" && *directive != ".abi_preserve_control")
    return failure(formatMessage("unknown function directive '{}'", *directive));
  return {};
}

Result<void> Parser::parameterList(std::vector<Variable> &into) {
  if (auto open = expect("("); !open)
    return open;
  while (!accept(")")) {
    if (accept(".param")) {
      if (auto done = variables(StateSpace::parameter, false, into); !done)
        return done;
    } else if (peek().is(".reg")) {
      return failure("parameters in registers are not supported; declare them .param");
    } else {
      return failure(formatMessage("expected '.param', but got '{}'", peek().text));
    }
    if (!accept(",") && !peek().is(")"))
      return failure(formatMessage("expected ',' or ')', but got '{}'", peek().text));
  }
  return {};
}

/// One variable of a parameter list, or a declaration up to and with its `;`.
Result<void> Parser::variables(StateSpace space, bool isExtern, std::vector<Variable> &into) {
  Variable common;
  common.space = space;
  common.isExtern = isExtern;
  bool typed = false, pointer = false;
  uint64_t vector = 1;
  while (peek().kind == Token::Kind::word && peek().text.starts_with('.')) {
    const std::string_view word = take().text;
    if (word == ".align") {
      auto value = expectConstant("an alignment");
      if (!value)
        return value.error();
      if (*value == 0 || (*value & (*value - 1)) != 0 || *value > (1u << 20))
        return failure(formatMessage("expected an alignment that is a power of two, but got {}", *value));
      if (!pointer) // what follows .ptr describes what it points to
        common.alignment = *value;
    } else if (word == ".ptr") {
      pointer = true;
    } else if (word == ".v2" || word == ".v4") {
      vector = word[2] - '0';
    } else if (word == ".attribute") {
      while (!accept(")") && peek().kind != Token::Kind::end)
        take();
    } else if (auto type = parseType(word.substr(1)); type && *type != Type::pred) {
      common.type = *type;
      typed = true;
    } else if (!pointer || !parseSpace(word)) {
      return failure(formatMessage("unknown word '{}' in a variable's declaration", word));
    }
  }
  if (!typed)
    return failure("a variable's declaration lacks its type");
  const bool inList = space == StateSpace::parameter && scope < 0;
  do {
    Variable variable = common;
    auto name = expectWord("a variable's name");
    if (!name)
      return name.error();
    variable.name = *name;
    const uint64_t element = sizeInBytes(variable.type) * vector;
    variable.alignment = std::max(variable.alignment, pointer || common.alignment == 1 ? element : 1);
    uint64_t count = 1;
    bool open = false;
    while (accept("[")) {
      if (accept("]")) {
        open = true;
        continue;
      }
      auto extent = expectConstant("an array's extent");
      if (!extent)
        return extent.error();
      if (*extent != 0 && count > maximumVariableBytes / *extent)
        return failure(formatMessage("'{}' is too large", *name));
      count *= *extent;
      if (auto close = expect("]"); !close)
        return close;
    }
    if (count > maximumVariableBytes / element)
      return failure(formatMessage("'{}' is too large", *name));
    variable.bytes = open ? 0 : count * element;
    if (accept("=")) {
      if (auto done = initialiser(variable, 0); !done)
        return done;
      if (open)
        variable.bytes = variable.initial.size();
      if (variable.initial.size() > variable.bytes)
        return failure(formatMessage("'{}' has more initial values than elements", *name));
    }
    if (scope >= 0) {
      // The same name may be declared again in another pair of braces, and in another function.
      variable.name = fmt::format("{}@{}.{}", *name, module.functions.size(), scope);
      if (!scopes[scope].variables.try_emplace(*name, variable.name).second)
        return failure(formatMessage("variable '{}' is declared twice", *name));
    }
    into.push_back(std::move(variable));
  } while (!inList && accept(","));
  return inList ? Result<void>() : expect(";");
}

Result<void> Parser::initialiser(Variable &variable, int depth) {
  if (!accept("{"))
    return initialElement(variable);
  if (accept("}"))
    return {};
  if (depth == maximumNesting)
    return failure(formatMessage("the initial value of '{}' is nested too deeply", variable.name));
  do {
    if (auto done = initialiser(variable, depth + 1); !done)
      return done;
  } while (accept(","));
  return expect("}");
}

Result<void> Parser::initialElement(Variable &variable) {
  const unsigned bytes = sizeInBytes(variable.type);
  uint64_t bits = 0;
  if (bytes > sizeof(bits))
    return failure(
        formatMessage("elements of {} bytes, as '{}' has, take no initial values", bytes, variable.name));
  if (peek(1).is("(") && peek().kind == Token::Kind::integer) {
    // 0xFF00(symbol): the part of the address under the mask.
    const uint64_t mask = take().bits;
    take();
    const unsigned shift = unsigned(std::countr_zero(mask));
    if (mask == 0 || shift % 8 != 0 ||
        mask >> shift != (bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * bytes)) - 1))
      return failure(
          fmt::format("the mask {:#x} does not select what an element of {} bytes holds", mask, bytes));
    const size_t count = variable.initialAddresses.size(), size = variable.initial.size();
    const Type type = std::exchange(variable.type, Type::b64);
    auto done = initialElement(variable);
    variable.type = type;
    if (!done)
      return done;
    if (variable.initialAddresses.size() == count)
      return failure("a mask applies to an address");
    variable.initialAddresses.back().shift = shift;
    variable.initialAddresses.back().bytes = bytes;
    variable.initial.resize(size + bytes);
    return expect(")");
  }
  if (peek().kind == Token::Kind::word && !isConstantName(peek())) {
    const bool generic = accept("generic");
    if (generic)
      if (auto open = expect("("); !open)
        return open;
    auto symbol = expectWord("a variable");
    if (!symbol)
      return symbol.error();
    if (generic)
      if (auto close = expect(")"); !close)
        return close;
    auto addend = offset();
    if (!addend)
      return addend.error();
    if (bytes != 8)
      return failure("an address in an initialiser needs 64-bit elements");
    variable.initialAddresses.push_back({variable.initial.size(), std::string(*symbol), *addend});
  } else {
    auto value = constantOperand();
    if (!value)
      return value.error();
    if (value->kind == Operand::Kind::integer || (value->kind == Operand::Kind::floatBits && bytes == 4))
      bits = value->bits;
    else if (bytes == 4)
      bits = std::bit_cast<uint32_t>(float(value->value));
    else
      bits = std::bit_cast<uint64_t>(value->value);
  }
  const size_t at = variable.initial.size();
  if (at + bytes > maximumVariableBytes)
    return failure("too many initial values");
  variable.initial.resize(at + bytes);
  std::memcpy(variable.initial.data() + at, &bits, bytes);
  return {};
}

} // namespace tlc::emulator
