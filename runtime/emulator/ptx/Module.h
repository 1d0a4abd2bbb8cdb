// SPDX-License-Identifier: Apache-2.0
/// \file
/// A PTX module as its text says it, with names resolved to registers,
/// variables and labels. Instructions are still words; `exec/Program.h` is
/// what runs.
#pragma once

#include "runtime/emulator/ptx/Type.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::emulator {

/// A place in the source that the kernel was written in, from .file and .loc.
struct SourceLocation {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
};

/// What a declared variable lives in.
enum class StateSpace : uint8_t { global, constant, shared, local, parameter };

/// An address of another variable inside an initialiser.
struct InitialAddress {
  uint64_t offset = 0; ///< into the variable
  std::string symbol;
  int64_t addend = 0;
  unsigned shift = 0, bytes = 8; ///< the part of the address that the element holds
};

struct Variable {
  std::string name;
  StateSpace space = StateSpace::global;
  Type type = Type::b8;
  uint64_t bytes = 0; ///< 0 for `.extern .shared x[]`: the launch's dynamic shared memory
  uint64_t alignment = 1;
  bool isExtern = false;
  std::vector<std::byte> initial; ///< of the first bytes; the others are zero
  std::vector<InitialAddress> initialAddresses;
};

/// An operand as written.
struct Operand {
  enum class Kind : uint8_t {
    reg,       ///< `reg`
    integer,   ///< `bits`
    real,      ///< `value`
    floatBits, ///< 0f...: `bits`, and `value`
    symbol,    ///< `name` + `offset`: a variable, function or special register
    address,   ///< [base + offset]; the base is in `elements[0]` (reg, symbol or integer), further elements
               ///< follow
    vector,    ///< { elements }
    label,     ///< `bits`: index of the statement it stands before
    sink,      ///< _
  };
  Kind kind = Kind::sink;
  bool negated = false; ///< !p
  uint32_t reg = 0;     ///< index into `Function::registers`
  uint64_t bits = 0;
  double value = 0;
  int64_t offset = 0;
  std::string name;
  std::vector<Operand> elements;
  std::optional<uint32_t> second; ///< the register after `|`, as in `d|p`
  std::string selector;           ///< "b0" of %r1.b0, which video instructions take
  bool minus = false;             ///< -a, likewise
};

/// One instruction.
struct Statement {
  std::string name;                   ///< "add", "cp", "mbarrier"
  std::vector<std::string> modifiers; ///< "rn", "f32"; without the dots
  std::vector<Operand> operands;
  std::optional<uint32_t> guard; ///< predicate register
  bool guardNegated = false;
  unsigned line = 0;     ///< of the PTX text
  size_t begin = 0;      ///< where it stands in the text, guard and semicolon included
  size_t end = 0;        ///< the place after it
  uint32_t location = 0; ///< index into `Module::locations`
  // Only for `call`: (results), callee, (arguments).
  std::vector<std::string> callResults;
  std::vector<std::string> callArguments;
  std::string callPrototype; ///< of an indirect one

  std::string fullName() const; ///< "add.rn.f32"
};

/// A `.branchtargets` list, for brx.idx.
struct BranchTargets {
  std::string name;
  std::vector<Operand> labels;
};

/// A `.callprototype`.
struct CallPrototype {
  std::string name;
  std::vector<Variable> parameters, results;
};

struct Register {
  std::string name;
  Type type = Type::b32;
};

struct Function {
  std::string name;
  bool isEntry = false;
  bool hasBody = false;
  std::vector<Variable> parameters;
  std::vector<Variable> results; ///< of a .func
  std::vector<Variable> locals;  ///< .local, .param and .shared variables of the body
  std::vector<Register> registers;
  std::vector<Statement> body;
  std::vector<BranchTargets> branchTargets;
  std::vector<CallPrototype> callPrototypes;
  std::optional<std::array<unsigned, 3>> requiredThreads; ///< .reqntid
  std::optional<std::array<unsigned, 3>> maximumThreads;  ///< .maxntid
  std::optional<std::array<unsigned, 3>> requiredCluster; ///< .reqnctapercluster
  std::optional<unsigned> minimumBlocks;                  ///< .minnctapersm
  std::optional<unsigned> maximumRegisters;               ///< .maxnreg
  unsigned line = 0;
};

struct Module {
  unsigned versionMajor = 0, versionMinor = 0;
  std::string target;
  std::vector<Variable> variables; ///< of module scope
  std::vector<Function> functions;
  std::map<std::string, size_t, std::less<>> functionOfName; ///< index
  std::map<std::string, std::string, std::less<>> aliases;   ///< to the function meant
  std::vector<SourceLocation> locations;                     ///< [0] is "none"
};

/// The function of that name or alias, or null.
const Function *findFunction(const Module &module, std::string_view name);

} // namespace tlc::emulator
