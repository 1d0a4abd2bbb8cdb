// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loop-carried registers that ptxas 13.0 confuses with their initial values.
#pragma once

namespace llvm {
class MachineFunctionPass;
}

namespace tlc {

/// Runs after the elimination of phis. Where the initial value of a loop-carried register has other uses, it
/// is copied by a `mov` in inline assembly, which LLVM does not coalesce. Otherwise the value and the
/// loop-carried register share one, and ptxas rematerializes `value + constant` in the loop, where that
/// register has changed.
llvm::MachineFunctionPass *createLoopStartsPass();

} // namespace tlc
