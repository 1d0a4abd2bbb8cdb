// SPDX-License-Identifier: Apache-2.0
/// \file
/// A traced program: a module of the tile dialect, or the mistakes that kept
/// it from becoming one.
#pragma once

#include "compiler/dsl/Diagnostic.h"
#include "compiler/dsl/Scope.h"

#include <map>
#include <string>

namespace tlc::dsl::inline v1 {

struct TraceOptions {
  /// Dimensions to specialise for, by name.
  std::map<std::string, int64_t, std::less<>> fixedDimensions = {};
};

struct ProgramModule;

class Program {
public:
  /// Runs `body` once and records what it does. Never fails itself: ask `ok()`.
  static Program trace(std::string_view name, const TraceOptions &options,
                       const std::function<void(Scope &)> &body, Loc loc = Loc::current());
  static Program trace(std::string_view name, const std::function<void(Scope &)> &body,
                       Loc loc = Loc::current()) {
    return trace(name, {}, body, loc);
  }

  Program(Program &&) noexcept;
  Program &operator=(Program &&) noexcept;
  ~Program();

  const std::string &name() const { return programName; }
  bool ok() const { return diagnostics.empty(); }
  const std::vector<Diagnostic> &errors() const { return diagnostics; }
  /// All errors, a line each, notes below.
  std::string errorText() const;
  /// The module as text; empty if there are errors.
  std::string text() const;

private:
  Program();
  friend struct ProgramModule;
  std::string programName;
  std::vector<Diagnostic> diagnostics;
  std::unique_ptr<ProgramModule> module; ///< null if there are errors
};

} // namespace tlc::dsl::inline v1
