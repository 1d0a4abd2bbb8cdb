// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the compiler has to say, as located text.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "runtime/artifact/Artifact.h"

#include <string>
#include <string_view>
#include <vector>

namespace tlc {

struct Diagnostic {
  enum class Severity { error, warning, remark, note };
  Severity severity = Severity::error;
  std::string location; ///< "flash_forward.cpp:41:11"; empty if unknown
  std::string message;
  std::vector<Diagnostic> notes;
  unsigned count =
      1; ///< how often this place gave it, with other numbers or the same; the first stands for all
};

/// "error"
std::string_view toString(Diagnostic::Severity severity);
/// "flash_forward.cpp:41:11: error: ...", notes on lines of their own.
std::string toString(const Diagnostic &diagnostic);

/// The remark of an artifact if `diagnostic` is one: its message begins with an id in brackets.
std::optional<Remark> toRemark(const Diagnostic &diagnostic);

/// Keeps what is diagnosed in its lifetime, instead of printing it; what a place says again is counted.
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext *context, std::vector<Diagnostic> &diagnostics);

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tlc
