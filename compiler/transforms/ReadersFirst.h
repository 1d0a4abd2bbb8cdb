// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads of what a product will use while it is in flight.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

/// Who else reads a factor in registers does so before the product starts, instead of after its end, where it
/// can.
void putReadersFirst(mlir::scf::ForOp loop);

} // namespace tlc::tile
