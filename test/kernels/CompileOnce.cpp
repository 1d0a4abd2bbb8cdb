// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs are kept by their canonical modules.
#include "test/kernels/CompileOnce.h"

#include "kernels/library/Compile.h"
#include "runtime/target/Target.h"
#include "test/Expect.h"

using namespace tlc;
using namespace tlc::kernels;

std::shared_ptr<const Artifact> kernels::test::compileOnce(const Request &request,
                                                           const CompileOptions &options) {
  static ArtifactCache programs;
  dsl::TraceOptions trace;
  for (const std::string &dimension : request.fixedDimensions)
    trace.fixedDimensions[dimension] = request.values.size(dimension);
  dsl::Program program = request.kernel->build(request.values, *findTarget(options.target), trace);
  CompileOptions allowed = options;
  allowed.multicast = true;
  return tlc::test::expectValue(compile(std::move(program), allowed, programs));
}
