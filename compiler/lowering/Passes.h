// SPDX-License-Identifier: Apache-2.0
/// \file
/// The passes that leave the tile level, declared from Passes.td.
#pragma once

#include "dialects/simt/Simt.h"
#include "mlir/Pass/Pass.h"

namespace tlc {

#define GEN_PASS_DECL
#include "compiler/lowering/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/lowering/Passes.h.inc"

} // namespace tlc
