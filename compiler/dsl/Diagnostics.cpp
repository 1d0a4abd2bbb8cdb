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
      Diagnostic{positionOf(diagnostic.getLocation()), tile::inUsersWords(context.get(), diagnostic.str())});
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    if (!isa<UnknownLoc>(note.getLocation()) && !StringRef(note.str()).starts_with("see current operation"))
      error.notes.push_back({positionOf(note.getLocation()), tile::inUsersWords(context.get(), note.str())});
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
