// SPDX-License-Identifier: Apache-2.0
/// \file
/// Machine code for programs of the cache, by ptxas where that is found.
#pragma once

#include "runtime/cache/DiskCache.h"

#include <filesystem>

namespace tlc::kernels {

/// Adds machine code to all variants, or to none: then the note says why. Temporary files are written to
/// `folder`.
void addMachineCode(CachedProgram &program, const std::filesystem::path &folder);

} // namespace tlc::kernels
