// SPDX-License-Identifier: Apache-2.0
/// \file
/// Waits with a time limit: their loop, and the failed checks that they report.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// Emits a loop that ends once a try succeeds: `tryInVain` emits one, and yields whether it failed. After the
/// first tries the loop looks at the clock after each. `limit` nanoseconds later it emits `report` and ends,
/// as do all such loops of the program from then on.
void waitWithin(Emitter &b, int64_t limit, mlir::function_ref<mlir::Value()> tryInVain,
                mlir::function_ref<void()> report);

/// Reports that `op` has waited `limit` nanoseconds for `awaited`, which shows `values` in place of each
/// "{}".
void reportWait(KernelLowering &k, Operation *op, int64_t limit, const llvm::Twine &awaited,
                mlir::ValueRange position, mlir::ValueRange values);

/// "channel 'AB'"; "a channel" for a name that a report's text cannot have.
std::string nameInReport(llvm::StringRef kind, llvm::StringRef name);

/// Waits until the barrier has completed the phase of a parity (i32) or of a state (i64); within the kernel's
/// limit, if it has one. `awaited` is as for `reportWait`.
void waitAtBarrier(KernelLowering &k, Operation *op, Value barrier, Value phase, const llvm::Twine &awaited,
                   mlir::ValueRange values);

} // namespace tlc::lowering
