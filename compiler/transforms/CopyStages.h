// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages of a loop whose copies by cp.async run ahead.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

/// Gives the copies of a loop that waits for groups of them, and what tells their places, stage 0. All else
/// has the stage after which their slots are read: as many iterations later as there are slots beside the one
/// that is read. False for other loops.
bool scheduleCopies(mlir::scf::ForOp loop);

} // namespace tlc::tile
