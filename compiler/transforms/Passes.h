// SPDX-License-Identifier: Apache-2.0
/// \file
/// Declarations of the tile-to-tile passes (Passes.td has their contracts).
#pragma once

#include "dialects/tile/Tile.h"
#include "mlir/Pass/Pass.h"

namespace tlc::tile {

#define GEN_PASS_DECL
#include "compiler/transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/transforms/Passes.h.inc"

} // namespace tlc::tile
