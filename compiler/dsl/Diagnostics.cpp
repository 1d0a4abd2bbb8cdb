// SPDX-License-Identifier: Apache-2.0
/// \file
/// Places in the user's source, and what is said about them.
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::dsl {

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

/// gemm_async -> gemmAsync
std::string camelCase(StringRef name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i)
    text += name[i] != '_' ? name[i] : llvm::toUpper(name[++i]);
  return text;
}

/// "'tile.gemm_async' op expected ..." -> "gemmAsync: expected ...": users do not write operations.
std::string withoutOperation(StringRef message) {
  StringRef rest = message;
  if (!rest.consume_front("'tile."))
    return message.str();
  auto [name, text] = rest.split("' op ");
  return text.empty() ? message.str() : camelCase(name) + ": " + text.str();
}
} // namespace

std::string toString(const Diagnostic &diagnostic) {
  std::string text = toText(diagnostic.position) + ": error: " + diagnostic.message;
  for (const Note &note : diagnostic.notes)
    text += "\n" + toText(note.position) + ": note: " + note.message;
  return text;
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
      Diagnostic{positionOf(diagnostic.getLocation()), withoutOperation(diagnostic.str())});
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    if (!isa<UnknownLoc>(note.getLocation()) && !StringRef(note.str()).starts_with("see current operation"))
      error.notes.push_back({positionOf(note.getLocation()), note.str()});
}

void Trace::noteDeclaration(Diagnostic &diagnostic, Value value) {
  StringRef name = tile::nameOf(value);
  if (!name.empty())
    diagnostic.notes.push_back(
        {positionOf(tile::declarationOf(value).getLoc()), ("'" + name + "' is declared here").str()});
}

std::string Trace::describe(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (StringRef name = tile::nameOf(value); !name.empty())
    os << "'" << name << "' ";
  Type type = value.getType();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    os << tile::toText(tensor.getShape()) << " of " << tensor.getElementType();
  else
    os << type;
  return text;
}

} // namespace tlc::dsl
