// SPDX-License-Identifier: Apache-2.0
/// \file
/// A traced program for those who speak MLIR.
#pragma once

#include "compiler/dsl/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#pragma GCC visibility push(hidden) // not for those who link libtlc
namespace tlc::dsl::inline v1 {

struct ProgramModule {
  std::shared_ptr<mlir::MLIRContext> context; ///< without threads
  mlir::OwningOpRef<mlir::ModuleOp> module;   ///< verified, canonical; no target yet

  /// The module of a program without errors, which is left without it.
  static ProgramModule take(Program &&program) { return std::move(*program.module); }
  /// A program that was traced elsewhere: its module, or its mistakes.
  static Program give(std::string_view name, ProgramModule module) {
    Program program;
    program.programName = name;
    program.module = std::make_unique<ProgramModule>(std::move(module));
    return program;
  }
  static Program mistaken(std::string_view name, std::vector<Diagnostic> mistakes) {
    Program program;
    program.programName = name;
    program.diagnostics = std::move(mistakes);
    return program;
  }
};

} // namespace tlc::dsl::inline v1
#pragma GCC visibility pop
