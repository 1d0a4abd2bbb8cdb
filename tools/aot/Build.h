// SPDX-License-Identifier: Apache-2.0
/// \file
/// From kernels to an archive and its header.
#pragma once

#include "kernels/library/Prewarm.h"
#include "tools/aot/ObjectFile.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc::aot {

/// A function of the header, and its program for each target, or one that is compiled.
struct KernelRequest {
  std::string function;
  std::vector<kernels::ListedProgram> programs = {};
  std::optional<Artifact> artifact = {};
};

struct BuildOptions {
  std::string prefix;                    ///< of all names
  std::optional<std::string> ptxas = {}; ///< adds machine code
  bool hasEmulator = false;
  Machine machine = hostMachine();
  unsigned threads = 0; ///< 0: one per core
};

struct Built {
  std::string archive, header;
};

/// Compiles what the cache lacks; `onStep` is told of each program. Equal requests and options give equal
/// bytes.
Result<Built> build(kernels::Library &library, std::span<const KernelRequest> kernels,
                    const BuildOptions &options,
                    const std::function<void(const kernels::PrewarmStep &)> &onStep);

} // namespace tlc::aot
