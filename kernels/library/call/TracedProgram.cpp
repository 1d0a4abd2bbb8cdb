// SPDX-License-Identifier: Apache-2.0
/// \file
/// Traced programs to artifacts.
#include "kernels/library/call/TracedProgram.h"

#include "compiler/pipeline/Compiler.h"

#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

Result<TracedProgram> TracedProgram::take(dsl::Program program) {
  if (!program.ok())
    return Error{ErrorKind::invalidArgument, program.errorText()};
  std::string name = program.name();
  TracedProgram traced{std::move(name), dsl::ProgramModule::take(std::move(program))};
  prepareContext(*traced.module.context);
  return traced;
}

KeyBuilder TracedProgram::key(const CompileOptions &options) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.module.get().print(os, mlir::OpPrintingFlags().enableDebugInfo());
  KeyBuilder key;
  key.add("program").add(name).add(text).add(fingerprint(options));
  return key;
}

std::string kernels::callRemedy(std::string_view target) {
  return fmt::format(
      "make the same call where the cache may compile, on a device of {}, an emulated one too, "
      "and copy that by 'tlc cache export'",
      target);
}

Result<Artifact> kernels::compile(TracedProgram program, const CompileOptions &options) {
  Compiler compiler(options);
  mlir::FailureOr<Artifact> artifact = compiler.compile(*program.module.module, program.name);
  if (mlir::succeeded(artifact))
    return std::move(*artifact);
  Error error;
  for (const Diagnostic &diagnostic : compiler.diagnostics())
    error.message += toString(diagnostic) + "\n";
  return error;
}

Result<ArtifactCache::Pointer> kernels::compile(TracedProgram program, const CompileOptions &options,
                                                ArtifactCache &cache, ProgramCode code) {
  auto compileAnew = [&]() -> Result<ArtifactCache::Pointer> {
    Result<Artifact> artifact = compile(std::move(program), options);
    if (!artifact)
      return artifact.error();
    return std::make_shared<const Artifact>(std::move(*artifact));
  };
  if (options.showsPasses()) // who asks for dumps gets them
    return compileAnew();
  const std::string name = program.name;
  return cache.getOrCompile({.key = program.key(options),
                             .program = name,
                             .target = options.target,
                             .remedy = [&] { return callRemedy(options.target); },
                             .code = code},
                            compileAnew);
}
