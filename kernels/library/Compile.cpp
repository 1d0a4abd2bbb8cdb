// SPDX-License-Identifier: Apache-2.0
/// \file
/// Traced programs to artifacts, without MLIR in the interface.
#include "kernels/library/Compile.h"

#include "compiler/dsl/Module.h"
#include "compiler/pipeline/Compiler.h"

using namespace tlc;

Result<Artifact> tlc::compile(dsl::Program program, const CompileOptions &options) {
  if (!program.ok())
    return Error{ErrorKind::invalidArgument, program.errorText()};
  std::string name = program.name();
  dsl::ProgramModule input = dsl::ProgramModule::take(std::move(program));
  prepareContext(*input.context);
  Compiler compiler(options);
  mlir::FailureOr<Artifact> artifact = compiler.compile(*input.module, name);
  if (mlir::succeeded(artifact))
    return std::move(*artifact);
  Error error;
  for (const Diagnostic &diagnostic : compiler.diagnostics())
    error.message += toString(diagnostic) + "\n";
  return error;
}
