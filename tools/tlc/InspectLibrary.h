// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc inspect libfa.a`: what a library of `tlc build` holds.
#pragma once

#include "tools/tlc/ExitCode.h"
#include "tools/tlc/Messages.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tlc::driver {

/// A static archive or a shared object, by its name.
bool namesLibrary(llvm::StringRef source);
ExitCode inspectLibrary(const std::string &path, Format format);

} // namespace tlc::driver
