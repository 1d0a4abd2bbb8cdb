// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arguments of programs as text: "inout f32 X [m, n]".
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Enum.h"

#include <span>
#include <string>

namespace tlc {

TLC_ENUM_NAMES(Access, TLC_ACCESSES)

namespace aot {

/// "[m, n, 4]"
std::string shapeOf(const Artifact &artifact, const TensorArgument &tensor);
/// All but workspaces.
std::span<const TensorArgument> tensorsOf(const Artifact &artifact);

} // namespace aot
} // namespace tlc
