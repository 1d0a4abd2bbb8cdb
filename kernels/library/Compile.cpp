// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs to artifacts, without MLIR in the interface.
#include "kernels/library/Compile.h"

#include "kernels/library/call/TracedProgram.h"

using namespace tlc;
using kernels::TracedProgram;

Result<Artifact> tlc::compile(dsl::Program program, const CompileOptions &options) {
  kernels::ArtifactCache cache;
  Result<std::shared_ptr<const Artifact>> artifact = compile(std::move(program), options, cache);
  return artifact ? Result<Artifact>(**artifact) : artifact.error();
}

Result<std::shared_ptr<const Artifact>> tlc::compile(dsl::Program program, const CompileOptions &options,
                                                     kernels::ArtifactCache &cache, ProgramCode code) {
  Result<TracedProgram> traced = TracedProgram::take(std::move(program));
  if (!traced)
    return traced.error();
  return kernels::compile(std::move(*traced), options, cache, code);
}
