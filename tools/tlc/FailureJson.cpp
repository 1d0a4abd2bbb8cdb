// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/FailureJson.h"

#include "tools/tlc/SourcePlace.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

StringRef nameOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::invalidArgument:
    return "invalid_argument";
  case ErrorKind::environment:
    return "environment";
  case ErrorKind::execution:
    return "execution";
  }
  llvm_unreachable("all kinds are handled");
}

void writeDiagnostic(json::OStream &os, const Diagnostic &diagnostic) {
  os.object([&] {
    os.attribute("kind", StringRef(toString(diagnostic.severity)));
    if (const std::optional<SourcePlace> place = parsePlace(diagnostic.location)) {
      os.attribute("file", json::fixUTF8(place->file));
      os.attribute("line", place->line);
      os.attribute("column", place->column);
    }
    os.attribute("message", json::fixUTF8(diagnostic.message));
    os.attribute("count", diagnostic.count);
    os.attributeArray("notes", [&] {
      for (const Diagnostic &note : diagnostic.notes)
        writeDiagnostic(os, note);
    });
  });
}

std::optional<Diagnostic::Severity> severityOf(StringRef name) {
  return StringSwitch<std::optional<Diagnostic::Severity>>(name)
      .Cases({"error", "fatal error"}, Diagnostic::Severity::error)
      .Case("warning", Diagnostic::Severity::warning)
      .Case("note", Diagnostic::Severity::note)
      .Default(std::nullopt);
}

} // namespace

void tlc::driver::printFailureJson(const tlc::Error &error, ArrayRef<Diagnostic> diagnostics) {
  json::OStream os(outs());
  os.object([&] {
    os.attribute("error", json::fixUTF8(StringRef(error.message).split('\n').first));
    os.attribute("kind", nameOf(error.kind));
    os.attributeArray("diagnostics", [&] {
      for (const Diagnostic &diagnostic : diagnostics)
        if (diagnostic.severity != Diagnostic::Severity::remark)
          writeDiagnostic(os, diagnostic);
    });
  });
  outs() << '\n';
}

std::vector<Diagnostic> tlc::driver::parseCompilerOutput(StringRef output) {
  std::vector<Diagnostic> diagnostics;
  for (; !output.empty(); output = output.split('\n').second) {
    const auto [location, rest] = output.split('\n').first.split(": ");
    const auto [name, message] = rest.split(": ");
    const std::optional<Diagnostic::Severity> severity = severityOf(name);
    if (!severity || !parsePlace(location))
      continue;
    std::vector<Diagnostic> &list = *severity == Diagnostic::Severity::note && !diagnostics.empty()
                                        ? diagnostics.back().notes
                                        : diagnostics;
    list.push_back({*severity, location.str(), message.str(), {}});
  }
  return diagnostics;
}
