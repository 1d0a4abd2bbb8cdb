// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers of types that the machine only converts.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// Elements of a float of at most 8 bits as f32.
Value decodeFloats(KernelLowering &k, Value codes, ElementType from);

} // namespace tlc::lowering
