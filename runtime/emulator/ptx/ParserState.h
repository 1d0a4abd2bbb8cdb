// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parser's state, shared by its two halves: declarations (Declarations.cpp)
/// and function bodies (Parser.cpp). Private to this folder.
#pragma once

#include "runtime/emulator/ptx/Lexer.h"
#include "runtime/emulator/ptx/Module.h"

#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace tlc::emulator {

/// A pair of braces: registers, variables and labels are visible inside it.
struct Scope {
  /// `.reg .b32 %r<9>`: registers %r0 to %r8.
  struct Range {
    uint32_t first = 0, count = 0;
  };
  int parent = -1;
  std::unordered_map<std::string_view, Range> ranges; ///< by prefix
  std::unordered_map<std::string_view, uint32_t> registers;
  std::unordered_map<std::string_view, Range> vectors;         ///< `.reg .v4 .f32 v`, of four registers
  std::unordered_map<std::string_view, std::string> variables; ///< to their unique name
  std::unordered_map<std::string_view, size_t> labels;
};

/// The value of a constant expression.
struct Constant {
  enum class Kind : uint8_t { s64, u64, f64 };
  Kind kind = Kind::s64;
  uint64_t bits = 0; ///< of an integer
  double value = 0;  ///< of an f64
};
/// WARP_SZ, a constant that is a word.
bool isConstantName(const Token &token);

/// Counts how deep a recursion is.
class Nested {
public:
  explicit Nested(int &depth) : depth(depth) { ++depth; }
  ~Nested() { --depth; }
  Nested(const Nested &) = delete;
  Nested &operator=(const Nested &) = delete;

private:
  int &depth;
};

class Parser {
public:
  Parser(std::string_view text, std::vector<Token> tokens) : text(text), tokens(std::move(tokens)) {}
  Result<Module> run();

private:
  // Tokens.
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(position + ahead, tokens.size() - 1)]; }
  const Token &take() { return tokens[position < tokens.size() - 1 ? position++ : position]; }
  bool accept(std::string_view text);
  Result<void> expect(std::string_view text);
  Result<std::string_view> expectWord(std::string_view what);
  Result<uint64_t> expectInteger(std::string_view what);
  Error failure(std::string what) const;

  // Constants.
  bool atConstant() const;
  Result<Constant> constantExpression();
  Result<Constant> binaryConstant(int level);
  Result<Constant> unaryConstant();
  Result<uint64_t> expectConstant(std::string_view what);
  Result<Operand> constantOperand();
  Result<int64_t> offset();

  // Declarations.
  Result<void> moduleItem();
  Result<void> fileDirective();
  Result<void> functionDeclaration(bool isEntry);
  Result<void> launchBound(Function &function);
  Result<void> parameterList(std::vector<Variable> &into);
  Result<void> variables(StateSpace space, bool isExtern, std::vector<Variable> &into);
  Result<void> initialiser(Variable &variable, int depth);
  Result<void> initialElement(Variable &variable);
  Result<void> skipBraces();
  Result<void> skipStatement();
  Result<void> alias();

  // Bodies.
  Result<void> body(Function &function);
  Result<void> bodyItem(Function &function);
  Result<void> callPrototype(Function &function, std::string_view name);
  Result<void> registers(Function &function);
  Result<void> locationDirective();
  Result<void> instruction(Function &function);
  Result<void> callOperands(Function &function, Statement &statement);
  Result<void> callNames(std::vector<std::string> &names);
  Result<Operand> operand(Function &function);
  Result<Operand> word(Function &function);
  Result<Operand> list(Function &function, Operand::Kind kind, std::string_view close);
  std::optional<uint32_t> findRegister(std::string_view name) const;
  Scope::Range findVector(std::string_view name) const;
  std::optional<uint32_t> findElement(std::string_view name) const;
  std::string findVariable(std::string_view name) const;
  Result<void> resolveLabels(Function &function);
  Result<void> resolveLabel(Operand &operand, int scope, unsigned line) const;

  std::string_view text; ///< that the tokens point into
  std::vector<Token> tokens;
  size_t position = 0;
  Module module;
  std::map<uint64_t, std::string> files;
  std::vector<uint64_t> locationFiles; ///< file number of each location; names may come last
  uint32_t location = 0;
  std::vector<Scope> scopes; ///< of the current function
  int scope = -1;
  int operandDepth = 0, constantDepth = 0;
  uint64_t registerCount = 0; ///< of the module
  std::vector<int> statementScopes;
  std::vector<int> targetScopes; ///< of each .branchtargets list
};

} // namespace tlc::emulator
