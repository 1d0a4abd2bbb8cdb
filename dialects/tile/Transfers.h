// SPDX-License-Identifier: Apache-2.0
/// \file
/// What transfers of a program do to tensors of its kernels.
#pragma once

#include "mlir/IR/Value.h"

namespace tlc::tile {

/// Whether a transfer that launches run beside writes the tensor, an argument of a kernel: its elements may
/// change while the kernel runs.
bool isWrittenByTransfer(mlir::Value tensor);

} // namespace tlc::tile
