// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program without mistakes on its way through the compiler, and its key in caches.
#pragma once

#include "compiler/dsl/Module.h"
#include "compiler/pipeline/Options.h"
#include "kernels/library/call/ArtifactCache.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/cache/Key.h"

#include <string>
#include <string_view>

namespace tlc::kernels {

struct TracedProgram {
  std::string name;
  dsl::ProgramModule module;

  /// The error has the program's mistakes.
  static Result<TracedProgram> take(dsl::Program program);
  /// Of the canonical module, with the places of its operations, which the artifact has, too; of target and
  /// options.
  KeyBuilder key(const CompileOptions &options) const;
};

/// How programs come into a cache that have no name (`CacheRequest::remedy`).
std::string callRemedy(std::string_view target);

/// An error holds everything that was diagnosed.
Result<Artifact> compile(TracedProgram program, const CompileOptions &options);
/// From the cache if it is there.
Result<ArtifactCache::Pointer> compile(TracedProgram program, const CompileOptions &options,
                                       ArtifactCache &cache, ProgramCode code);

} // namespace tlc::kernels
