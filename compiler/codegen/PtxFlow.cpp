// SPDX-License-Identifier: Apache-2.0
/// \file
/// One pass over the characters; labels are looked up when a function is complete.
#include "compiler/codegen/PtxFlow.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace llvm;
using namespace tlc;

namespace {

bool isNameStart(char c) { return isAlpha(c) || c == '_' || c == '$' || c == '%'; }
bool isNamePart(char c) { return isAlnum(c) || c == '_' || c == '$' || c == '%'; }

/// Instructions without a result whose first operand may be a register.
bool hasNoResult(StringRef opcode) {
  StringRef name = opcode.take_until([](char c) { return c == '.'; });
  return is_contained({"bar", "barrier", "bra", "brx", "call", "nanosleep", "ret", "setmaxnreg", "wgmma"},
                      name);
}

/// Braces open scopes with registers and labels of their own: inline assembly has them.
struct Scope {
  unsigned parent = 0;
  std::vector<std::pair<StringRef, bool>> registers; ///< names; or prefixes of numbered ones
  StringMap<unsigned> labels;                        ///< blocks
  StringMap<unsigned> names;                         ///< of registers, by number
};

class FunctionReader {
public:
  FunctionReader(StringRef name, unsigned line) : line(line) {
    function.name = name;
    scopes.emplace_back();
    function.blocks.emplace_back();
  }

  /// Reads from after the opening brace to after the closing one.
  PtxFunction read(StringRef &text) {
    unsigned depth = 1;
    while (depth > 0) {
      skipBlanks(text);
      if (text.empty())
        break;
      if (text.front() == '{') {
        text = text.drop_front();
        ++depth;
        scopes.push_back({scope, {}, {}, {}});
        scope = unsigned(scopes.size() - 1);
      } else if (text.front() == '}') {
        text = text.drop_front();
        --depth;
        scope = scopes[scope].parent;
      } else {
        readStatement(text);
      }
    }
    endBlock();
    resolveBranches();
    return std::move(function);
  }

  unsigned lineBehind() const { return line; }

private:
  struct Branch {
    unsigned block, scope;
    StringRef target; ///< of a branch, or the name of a list of targets
  };

  void skipBlanks(StringRef &text) {
    while (!text.empty()) {
      if (text.front() == '\n') {
        ++line;
      } else if (text.starts_with("//")) {
        text = text.drop_until([](char c) { return c == '\n'; });
        continue;
      } else if (!isSpace(text.front())) {
        return;
      }
      text = text.drop_front();
    }
  }

  StringRef takeUntil(StringRef &text, char end) {
    StringRef taken = text.take_until([&](char c) { return c == end; });
    text = text.drop_front(std::min(text.size(), taken.size() + 1));
    return taken;
  }

  void readStatement(StringRef &text) {
    if (text.starts_with(".loc")) {
      readPlace(text.take_until([](char c) { return c == '\n'; }).drop_front(4));
      text = text.drop_until([](char c) { return c == '\n'; });
      return;
    }
    if (isNameStart(text.front())) {
      StringRef name = text.take_while(isNamePart), rest = text.drop_front(name.size()).ltrim(" \t");
      if (rest.starts_with(":") && !rest.starts_with("::")) {
        beginBlock();
        label = name;
        scopes[scope].labels[name] = unsigned(function.blocks.size() - 1);
        text = rest.drop_front();
        return;
      }
    }
    unsigned at = line;
    StringRef statement = takeUntil(text, ';');
    line += unsigned(statement.count('\n'));
    if (statement.starts_with(".reg"))
      declare(statement.drop_front(4));
    else if (statement.starts_with(".branchtargets"))
      lists[label] = statement.drop_front(StringRef(".branchtargets").size());
    else if (!statement.starts_with("."))
      readInstruction(statement, at);
  }

  void readPlace(StringRef text) {
    unsigned numbers[3] = {};
    for (unsigned &number : numbers) {
      text = text.ltrim();
      if (text.consumeInteger(10, number))
        return;
    }
    if (numbers[1] == 0)
      return; // of no line: what came before is nearest
    file = numbers[0], sourceLine = numbers[1], sourceColumn = numbers[2];
  }

  /// `.pred p, q` or `.b32 %r<20>`; those of the function itself need no entry.
  void declare(StringRef text) {
    if (scope == 0)
      return;
    text = text.ltrim().drop_until([](char c) { return isSpace(c); });
    SmallVector<StringRef> names;
    text.split(names, ',');
    for (StringRef name : names) {
      name = name.trim();
      scopes[scope].registers.emplace_back(name.take_while(isNamePart), name.contains('<'));
    }
  }

  bool declares(const Scope &within, StringRef name) const {
    return any_of(within.registers, [&](const auto &declared) {
      auto [prefix, numbered] = declared;
      return numbered ? name.starts_with(prefix) && all_of(name.drop_front(prefix.size()), isDigit)
                      : name == prefix;
    });
  }

  unsigned numberOf(StringRef name) {
    unsigned owner = scope;
    while (owner != 0 && !declares(scopes[owner], name))
      owner = scopes[owner].parent;
    auto [entry, isNew] = scopes[owner].names.try_emplace(name, unsigned(function.registers.size()));
    if (isNew)
      function.registers.push_back(name);
    return entry->second;
  }

  void readInstruction(StringRef text, unsigned at) {
    PtxInstruction instruction;
    instruction.line = at;
    instruction.file = file, instruction.sourceLine = sourceLine, instruction.sourceColumn = sourceColumn;
    instruction.firstAccess = unsigned(function.accesses.size());
    if (text.consume_front("@")) {
      instruction.guardNegated = text.consume_front("!");
      StringRef guard = text.take_while(isNamePart);
      function.accesses.push_back({numberOf(guard), 0, false, false});
      text = text.drop_front(guard.size()).ltrim();
      instruction.guarded = true;
    }
    instruction.opcode = text.take_until([](char c) { return isSpace(c); });
    instruction.operands = text.drop_front(instruction.opcode.size()).trim();
    readOperands(instruction);
    instruction.endAccess = unsigned(function.accesses.size());
    function.instructions.push_back(instruction);
    follow(instruction);
  }

  void readOperands(const PtxInstruction &instruction) {
    bool hasResult = !hasNoResult(instruction.opcode);
    unsigned operand = 0, braces = 0, brackets = 0;
    for (StringRef text = instruction.operands; !text.empty();) {
      char c = text.front();
      braces += c == '{' ? 1u : c == '}' ? -1u : 0u;
      brackets += c == '[' || c == '(' ? 1u : c == ']' || c == ')' ? -1u : 0u;
      operand += c == ',' && braces == 0 && brackets == 0;
      if (!isNamePart(c)) {
        text = text.drop_front();
        continue;
      }
      StringRef name = text.take_while(isNamePart);
      text = text.drop_front(name.size());
      while (text.starts_with(".") || text.starts_with("::")) // of a special register; a suffix
        text = text.drop_front(text.starts_with(".") ? 1 : 2).drop_while(isNamePart);
      if (isNameStart(name.front()))
        function.accesses.push_back(
            {numberOf(name), operand, braces > 0, hasResult && operand == 0 && brackets == 0});
    }
  }

  /// Ends the block where control may go elsewhere.
  void follow(const PtxInstruction &instruction) {
    StringRef name = instruction.opcode.take_until([](char c) { return c == '.'; });
    if (!is_contained({"bra", "brx", "ret", "exit", "trap"}, name))
      return;
    unsigned block = unsigned(function.blocks.size() - 1);
    if (name == "bra")
      branches.push_back({block, scope, instruction.operands});
    else if (name == "brx")
      branches.push_back({block, scope, instruction.operands.rsplit(',').second.trim()});
    fallsThrough = instruction.guarded;
    beginBlock();
  }

  void endBlock() { function.blocks.back().end = unsigned(function.instructions.size()); }

  void beginBlock() {
    unsigned now = unsigned(function.instructions.size());
    // Where nothing is in a block yet that control falls into, the label is its name, too.
    if (function.blocks.back().first == now && fallsThrough)
      return;
    endBlock();
    if (fallsThrough)
      function.blocks.back().successors.push_back(unsigned(function.blocks.size()));
    function.blocks.push_back({now, now, {}});
    fallsThrough = true;
  }

  void addTarget(const Branch &branch, StringRef target) {
    std::vector<unsigned> &successors = function.blocks[branch.block].successors;
    for (unsigned at = branch.scope;; at = scopes[at].parent) {
      if (auto found = scopes[at].labels.find(target); found != scopes[at].labels.end()) {
        successors.push_back(found->second);
        return;
      }
      if (at == 0)
        break;
    }
    for (unsigned block = 0; block < function.blocks.size(); ++block)
      successors.push_back(block);
  }

  void resolveBranches() {
    for (const Branch &branch : branches) {
      auto list = lists.find(branch.target);
      if (list == lists.end()) {
        addTarget(branch, branch.target);
        continue;
      }
      SmallVector<StringRef> targets;
      list->second.split(targets, ',');
      for (StringRef target : targets)
        addTarget(branch, target.trim());
    }
  }

  PtxFunction function;
  unsigned line;
  unsigned file = 0, sourceLine = 0, sourceColumn = 0;
  unsigned scope = 0;
  std::vector<Scope> scopes;
  std::vector<Branch> branches;
  StringRef label; ///< the last one
  DenseMap<StringRef, StringRef> lists;
  bool fallsThrough = true;
};

} // namespace

PtxText tlc::readPtx(StringRef text) {
  PtxText result;
  for (unsigned line = 1; !text.empty();) {
    StringRef whole = text.take_until([](char c) { return c == '\n'; }), trimmed = whole.trim();
    if (trimmed.starts_with(".file")) {
      unsigned number = 0;
      StringRef rest = trimmed.drop_front(5).ltrim();
      if (!rest.consumeInteger(10, number))
        result.files.emplace_back(number, rest.trim().trim('"'));
    }
    size_t header = std::min(whole.find(".entry"), whole.find(".func"));
    if (header == StringRef::npos) {
      text = text.drop_front(std::min(text.size(), whole.size() + 1));
      ++line;
      continue;
    }
    // Parameters and directives up to the body; a declaration has none.
    size_t body = text.find_first_of("{;");
    if (body == StringRef::npos)
      break;
    StringRef name = text.take_front(body).drop_front(header).drop_until([](char c) { return isSpace(c); });
    name = name.ltrim();
    if (name.starts_with("(")) // what a function returns
      name = name.split(')').second.ltrim();
    line += unsigned(text.take_front(body).count('\n'));
    bool isDeclaration = text[body] == ';';
    text = text.drop_front(body + 1);
    if (isDeclaration)
      continue;
    FunctionReader reader(name.take_while(isNamePart), line);
    result.functions.push_back(reader.read(text));
    line = reader.lineBehind();
  }
  return result;
}
