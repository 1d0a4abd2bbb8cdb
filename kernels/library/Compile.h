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

/// The whole way from a traced program to its artifact, which either device loads.
/// An error holds everything that was diagnosed; remarks are in the artifact.
Result<Artifact> compile(dsl::Program program, const CompileOptions &options = {});
/// The same, kept in the cache: an equal program with equal options is the same object, at once. Equal are
/// programs whose canonical modules are, the places of their operations included.
Result<std::shared_ptr<const Artifact>> compile(dsl::Program program, const CompileOptions &options,
                                                kernels::ArtifactCache &cache);

} // namespace tlc
