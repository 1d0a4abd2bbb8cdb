// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc inspect libfa.a`: what a library of `tlc build`, or an artifact of `tlc wrap`, holds.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "tools/tlc/ExitCode.h"
#include "tools/tlc/Messages.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tlc::driver {

/// A static archive, a shared object or an artifact, by its name.
bool namesLibrary(llvm::StringRef source);
Result<Artifact> readArtifact(const std::string &path);
ExitCode inspectLibrary(const std::string &path, Format format);

} // namespace tlc::driver
