// SPDX-License-Identifier: Apache-2.0
/// \file
/// Works on NVRTC's text: a directive or an instruction ends with a semicolon, a function with its brace.
#include "compiler/cuda/InlinePtx.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Demangle/Demangle.h"

#include <fmt/format.h>

using namespace llvm;
using namespace tlc;

namespace {

std::string withoutComments(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t comment = text.find("//", at);
    result += text.substr(at, comment - at);
    at = comment == text.npos ? text.size() : std::min(text.find('\n', comment), text.size());
  }
  return result;
}

/// Takes the next directive, variable or function off the text.
StringRef takeItem(StringRef &text) {
  text = text.ltrim();
  constexpr StringRef lines[] = {".version", ".target", ".address_size", ".file"};
  if (llvm::any_of(lines, [&](StringRef directive) { return text.starts_with(directive); })) {
    auto [line, rest] = text.split('\n');
    text = rest;
    return line.trim();
  }
  // What ends with its brace.
  const bool isBlock =
      text.starts_with(".section") ||
      text.take_until([](char c) { return c == '(' || c == '=' || c == ';'; }).contains(".func");
  int depth = 0;
  for (size_t i = 0; i != text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth != 0 || (text[i] != ';' && !(text[i] == '}' && isBlock)))
      continue;
    StringRef item = text.take_front(i + 1);
    text = text.drop_front(i + 1);
    return item;
  }
  return std::exchange(text, {});
}

/// A word of the text: what names and directives consist of.
bool isWordCharacter(char c) { return isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '%'; }

/// Calls `word` and `other` for the pieces of the text, in turns.
template <class Word, class Other> void forEachWord(StringRef text, Word &&word, Other &&other) {
  while (!text.empty()) {
    StringRef piece = text.take_while(isWordCharacter);
    if (!piece.empty())
      word(piece);
    text = text.drop_front(piece.size());
    StringRef between = text.take_until(isWordCharacter);
    if (!between.empty())
      other(between);
    text = text.drop_front(between.size());
  }
}

/// The name of a variable or function: the first word that is no directive, after what a function returns.
StringRef nameOf(StringRef item) {
  if (size_t function = item.find(".func"); function != item.npos) {
    item = item.drop_front(function + StringRef(".func").size()).ltrim();
    if (item.starts_with("("))
      item = item.drop_front(item.find(')') + 1);
  }
  StringRef name;
  forEachWord(
      item,
      [&](StringRef word) {
        if (name.empty() && !word.starts_with(".") && !isDigit(word.front()))
          name = word;
      },
      [](StringRef) {});
  return name;
}

class Body {
public:
  Body(StringRef name, StringRef text) : name(name), statements(text) {}

  std::string rewrite() {
    findRegisters();
    std::string body, rest = statements.rtrim().str();
    StringRef text(rest);
    const bool endsWithReturn = text.consume_back("ret;");
    const bool returnsElsewhere = text.contains("ret;");
    while (!text.empty()) {
      auto [line, after] = text.split('\n');
      // Lines of the source are not those of the program.
      if (!line.trim().empty() && !line.trim().starts_with(".loc"))
        body += rewriteLine(line.trim()) + "\n";
      text = after;
    }
    if (returnsElsewhere || !endsWithReturn)
      body += end() + ":\n";
    return "{\n" + body + "}";
  }

private:
  /// Names of registers are the block's own: those around it have the same.
  void findRegisters() {
    StringRef text = statements;
    for (size_t at = text.find(".reg "); at != text.npos; at = text.find(".reg ", at + 1)) {
      StringRef declared = text.drop_front(at).take_until([](char c) { return c == ';'; });
      declared = declared.drop_front(std::min(declared.find('%'), declared.size()));
      auto [first, count] = declared.split('<');
      if (!first.empty())
        (count.empty() ? single : numbered).insert(first.trim());
    }
  }

  /// Stands for the dollar of an operand until those of names are escaped.
  static constexpr char operandMark = '\1';
  static std::string operand(int number) { return operandMark + std::to_string(number); }
  static std::string end() { return "$$tlc_end_${:uid}"; }

  /// `ld.param.f32 %f1, [name_param_0]` is a move from operand 1; `st.param.f32 [func_retval0+0], %f2` one to
  /// operand 0.
  std::string rewriteLine(StringRef line) {
    if (line.contains("ret;"))
      return rewriteWords(line.take_front(line.find("ret;"))) + "bra " + end() + ";";
    StringRef memory = line.contains('[') ? line.split('[').second.split(']').first : StringRef();
    StringRef address = memory.split('+').first;
    std::string moved;
    if (address == "func_retval0") {
      moved = line.str();
      moved.replace(moved.find("st.param"), StringRef("st.param").size(), "mov");
      moved.replace(moved.find('['), memory.size() + 2, operand(0));
    } else if (StringRef number = address; number.consume_front(name) && number.consume_front("_param_")) {
      moved = line.str();
      moved.replace(moved.find("ld.param"), StringRef("ld.param").size(), "mov");
      moved.replace(moved.find('['), memory.size() + 2, operand(std::stoi(number.str()) + 1));
    }
    return rewriteWords(moved.empty() ? line : StringRef(moved));
  }

  std::string rewriteWords(StringRef text) {
    std::string result;
    forEachWord(
        text, [&](StringRef word) { result += rewriteWord(word); },
        [&](StringRef other) {
          for (char c : other)
            result += c == operandMark ? '$' : c;
        });
    return result;
  }

  std::string rewriteWord(StringRef word) {
    if (word.starts_with("$L")) // a label
      return "$" + word.str() + "_${:uid}";
    if (word.starts_with("%") && (single.contains(word) || numbered.contains(word.rtrim("0123456789"))))
      return "%tlc_" + word.drop_front().str();
    std::string escaped;
    for (char c : word)
      escaped += c == '$' ? "$$" : std::string(1, c);
    return escaped;
  }

  StringRef name, statements;
  StringSet<> single, numbered;
};

/// As the source has it: without namespaces and parameters.
std::string sourceName(const std::string &name) {
  std::string full = llvm::demangle(name);
  StringRef text = full;
  text = text.ends_with(")") ? text.take_front(text.rfind('(')) : text;
  return text.substr(text.rfind(':') + 1).str();
}

tlc::Error sharedMemory(StringRef name) {
  return {ErrorKind::invalidArgument,
          fmt::format("'{}' is shared memory: what a block shares is declared with k.shared",
                      sourceName(name.str()))};
}

tlc::Error notInlined(const std::string &name) {
  const bool isLibrary = StringRef(name).starts_with("__");
  return {ErrorKind::invalidArgument,
          fmt::format("it calls '{}'{}", sourceName(name),
                      isLibrary
                          ? " of CUDA's library, which is not inlined: compute in float, or otherwise"
                          : " and does not inline it: declare it __forceinline__, and without recursion")};
}

} // namespace

Result<InlinePtx> tlc::inlinePtx(std::string_view module, std::string_view prefix) {
  const std::string own = withoutComments(module);
  InlinePtx result;
  for (StringRef text = StringRef(own).rtrim(); !text.empty();) {
    StringRef item = takeItem(text);
    if (item.consume_front(".version")) {
      auto [major, minor] = item.trim().split('.');
      result.version = unsigned(std::stoi(major.str()) * 10 + std::stoi(minor.str()));
      continue;
    }
    if (item.starts_with(".target") || item.starts_with(".address_size") || item.starts_with(".file") ||
        item.starts_with(".section"))
      continue;
    for (StringRef linking : {".visible", ".weak"})
      if (item.consume_front(linking))
        item = item.ltrim();
    const std::string name = nameOf(item).str();
    if (item.starts_with(".extern"))
      return Error{
          ErrorKind::invalidArgument,
          fmt::format("it uses '{}', which is not in it: functions and memory of other modules cannot be "
                      "reached from here",
                      name)};
    if (StringRef(name).starts_with(prefix)) {
      if (item.ends_with("}")) {
        StringRef body = item.drop_front(item.find('{') + 1).drop_back();
        // A function's own variables are in it.
        for (StringRef line : llvm::split(body, '\n'))
          if (line.ltrim().starts_with(".shared"))
            return sharedMemory(nameOf(line.ltrim()));
        result.bodies[name] = Body(name, body).rewrite();
      }
      continue;
    }
    if (item.starts_with(".shared"))
      return sharedMemory(name);
    if (item.starts_with(".func"))
      return notInlined(name);
    result.declarations.push_back(item.str());
  }
  return result;
}
