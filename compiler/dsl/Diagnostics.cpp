// SPDX-License-Identifier: Apache-2.0
/// \file
/// Places in the user's source, and what is said about them.
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Repeats.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {
/// A path as the compiler was given it, relative to the root of this project if it lies there.
StringRef shorten(StringRef file) {
  StringRef root = __FILE__;
  if (root.consume_back("compiler/dsl/Diagnostics.cpp"))
    file.consume_front(root);
  return file;
}

std::string toText(const Position &position) {
  return position.file + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

/// As a word, or after the extents in a tensor's type.
void replaceType(std::string &text, Type type, StringRef name) {
  std::string word;
  llvm::raw_string_ostream(word) << type;
  if (word == name)
    return;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += name.size()) {
    size_t end = at + word.size();
    bool begins = at == 0 || !llvm::isAlnum(text[at - 1]) || text[at - 1] == 'x';
    if (begins && (end == text.size() || !llvm::isAlnum(text[end])))
      text.replace(at, word.size(), name);
  }
}

/// Users write neither operations nor MLIR's types:
/// "'tile.gemm_async' op expected 'tile.alloc_ring'" -> "gemmAsync: expected k.ring".
std::string inUsersWords(MLIRContext *context, StringRef message) {
  std::string text;
  while (!message.empty()) {
    size_t quote = message.size();
    for (StringRef dialect : {"'tile.", "'scf.", "'arith.", "'math."})
      quote = std::min(quote, message.find(dialect));
    text += message.take_front(quote);
    message = message.drop_front(quote);
    if (!message.consume_front("'"))
      break;
    auto [operation, rest] = message.split('\'');
    text += tile::callOf(operation);
    message = rest;
    if (message.consume_front(" op "))
      text += ": ";
  }
  for (ElementType element : allElementTypes)
    replaceType(text, toMlirType(element, context), toString(element));
  return text;
}
} // namespace

std::string toString(const Diagnostic &diagnostic) {
  std::string text =
      toText(diagnostic.position) + ": error: " + diagnostic.message + timesText(diagnostic.count);
  for (const Note &note : diagnostic.notes)
    text += "\n" + toText(note.position) + ": note: " + note.message;
  return text;
}

std::vector<Diagnostic> Trace::takeDiagnostics() {
  std::vector<Diagnostic> folded;
  for (Diagnostic &diagnostic : diagnostics)
    addOrCount(folded, std::move(diagnostic), [](const Diagnostic &a, const Diagnostic &b) {
      return a.position == b.position && a.position.line != 0;
    });
  diagnostics.clear();
  return folded;
}

Position positionOf(Location location) {
  if (auto place = location->findInstanceOf<FileLineColLoc>())
    return {place.getFilename().str(), place.getLine(), place.getColumn()};
  return {"unknown", 0, 0};
}

Location Trace::at(Loc loc) {
  latest = loc;
  return FileLineColLoc::get(context.get(), shorten(loc.file_name()), loc.line(), loc.column());
}

Diagnostic &Trace::error(Loc loc, const Twine &message) {
  diagnostics.push_back({positionOf(at(loc)), message.str()});
  return diagnostics.back();
}

void Trace::record(mlir::Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return;
  Diagnostic &error = diagnostics.emplace_back(
      Diagnostic{positionOf(diagnostic.getLocation()), inUsersWords(context.get(), diagnostic.str())});
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    if (!isa<UnknownLoc>(note.getLocation()) && !StringRef(note.str()).starts_with("see current operation"))
      error.notes.push_back({positionOf(note.getLocation()), inUsersWords(context.get(), note.str())});
}

std::string textOf(Type type) {
  if (std::optional<ElementType> element = toElementType(type))
    return std::string(toString(*element));
  if (type.isInteger(1))
    return "truth values";
  if (type.isIndex())
    return "positions";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

void Trace::noteDeclaration(Diagnostic &diagnostic, Value value) {
  StringRef name = tile::nameOf(value);
  if (!name.empty())
    diagnostic.notes.push_back(
        {positionOf(tile::declarationOf(value).getLoc()), "'" + excerpt(name) + "' is declared here"});
}

std::string Trace::describe(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (StringRef name = tile::nameOf(value); !name.empty())
    os << "'" << excerpt(name) << "' ";
  Type type = value.getType();
  if (isa<RankedTensorType, tile::SharedType, tile::TensorMemoryType>(type))
    os << tile::toText(tile::extentsOf(type)) << " of " << textOf(tile::elementTypeOf(type));
  else
    os << textOf(type);
  return text;
}

} // namespace tlc::dsl::inline v1
