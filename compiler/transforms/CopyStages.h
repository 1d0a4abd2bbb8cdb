// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages of a loop whose copies by cp.async run ahead.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

/// Gives stages to a loop that waits for groups of copies. Copies, and what tells their places, are as many
/// iterations ahead of all else as there are slots beside the one that is read. Places that are read from
/// memory are read an iteration before their copies, which need not wait for them then. False for other
/// loops.
bool scheduleCopies(mlir::scf::ForOp loop);

} // namespace tlc::tile
