// SPDX-License-Identifier: Apache-2.0
/// \file
/// MLIR's diagnostics as text.
#include "compiler/pipeline/Diagnostics.h"

#include "dialects/tile/Names.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/support/Repeats.h"

#include "llvm/ADT/StringRef.h"

using namespace mlir;
using namespace tlc;

namespace {

tlc::Diagnostic::Severity severityOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return tlc::Diagnostic::Severity::error;
  case DiagnosticSeverity::Warning:
    return tlc::Diagnostic::Severity::warning;
  case DiagnosticSeverity::Remark:
    return tlc::Diagnostic::Severity::remark;
  case DiagnosticSeverity::Note:
    return tlc::Diagnostic::Severity::note;
  }
  llvm_unreachable("all severities are handled");
}

std::string textOf(Location location) {
  FileLineColLoc source = tile::findSourceLocation(location);
  if (!source)
    return "";
  return source.getFilename().str() + ':' + std::to_string(source.getLine()) + ':' +
         std::to_string(source.getColumn());
}

/// Who writes IR knows its operations; who writes C++ does not.
bool isOfIr(Location location) {
  FileLineColLoc source = tile::findSourceLocation(location);
  return !source || source.getFilename().getValue().ends_with(".mlir");
}

tlc::Diagnostic convert(mlir::Diagnostic &diagnostic) {
  Location location = diagnostic.getLocation();
  std::string message = diagnostic.str();
  if (!isOfIr(location))
    message = tile::inUsersWords(location.getContext(), message);
  tlc::Diagnostic converted{severityOf(diagnostic.getSeverity()), textOf(location), std::move(message), {}};
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    converted.notes.push_back(convert(note));
  return converted;
}

} // namespace

std::string_view tlc::toString(Diagnostic::Severity severity) {
  switch (severity) {
  case tlc::Diagnostic::Severity::error:
    return "error";
  case tlc::Diagnostic::Severity::warning:
    return "warning";
  case tlc::Diagnostic::Severity::remark:
    return "remark";
  case tlc::Diagnostic::Severity::note:
    return "note";
  }
  llvm_unreachable("all severities are handled");
}

std::string tlc::toString(const Diagnostic &diagnostic) {
  std::string text = diagnostic.location.empty() ? "" : diagnostic.location + ": ";
  text +=
      std::string(toString(diagnostic.severity)) + ": " + diagnostic.message + timesText(diagnostic.count);
  for (const Diagnostic &note : diagnostic.notes)
    text += '\n' + toString(note);
  return text;
}

std::optional<Remark> tlc::toRemark(const Diagnostic &diagnostic) {
  StringRef message = diagnostic.message;
  if (diagnostic.severity != Diagnostic::Severity::remark || !message.consume_front("["))
    return std::nullopt;
  auto [id, text] = message.split("] ");
  return Remark{id.str(), diagnostic.location, text.str() + timesText(diagnostic.count)};
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context, std::vector<Diagnostic> &diagnostics)
    : handler(context, [&diagnostics, first = diagnostics.size()](mlir::Diagnostic &diagnostic) {
        addOrCount(
            diagnostics, convert(diagnostic),
            [](const Diagnostic &a, const Diagnostic &b) {
              return a.severity == b.severity && a.location == b.location && !a.location.empty();
            },
            first);
      }) {}
