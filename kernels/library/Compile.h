// SPDX-License-Identifier: Apache-2.0
/// \file
/// All that a C++ program includes to write a tile program, compile it and
/// launch it: the language, the compiler's options and both devices.
#pragma once

#include "compiler/dsl/dsl.h"
#include "compiler/pipeline/Options.h"
#include "kernels/library/call/ArtifactCache.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/Device.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/support/Result.h"

#include <memory>

namespace tlc {

/// Compiles a traced program to an artifact, which either device loads. An error
/// has the text of all diagnostics; the artifact has the remarks. The usual folder keeps it (CacheOptions).
Result<Artifact> compile(dsl::Program program, const CompileOptions &options = {});
/// The same through a cache of the caller's, which says where it keeps programs, if at all: an equal program
/// with equal options is not compiled again, and gives the same object. Programs are equal if their canonical
/// modules are, source locations included. For a device that runs machine code (`DeviceProperties::code`) the
/// cache adds that.
Result<std::shared_ptr<const Artifact>> compile(dsl::Program program, const CompileOptions &options,
                                                kernels::ArtifactCache &cache,
                                                ProgramCode code = ProgramCode::ptx);

} // namespace tlc
