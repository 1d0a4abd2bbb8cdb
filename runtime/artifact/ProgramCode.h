// SPDX-License-Identifier: Apache-2.0
/// \file
/// In which code a program is kept or run.
#pragma once

#include <cstdint>

namespace tlc {

struct Artifact;

/// `cubin`: machine code for the target. Programs that have it usually have their PTX, too, which an emulated
/// device runs, and which a driver compiles that refuses the machine code.
enum class ProgramCode : uint8_t { ptx, cubin };

/// `cubin` if each variant that launches something has machine code.
ProgramCode codeOf(const Artifact &artifact);

} // namespace tlc
