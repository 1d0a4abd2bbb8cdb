// SPDX-License-Identifier: Apache-2.0
/// \file
/// Registers of loops that ptxas 13.0 takes for others.
#pragma once

namespace llvm {
class MachineFunctionPass;
}

namespace tlc {

/// After the elimination of phis: where a loop's register starts as a number of which something else was
/// computed before the loop, it gets that number by a `mov` in inline assembly, so that LLVM does not make
/// one register of the two. Of such a register ptxas computes `number + constant` anew in the loop, where it
/// has another value.
llvm::MachineFunctionPass *createLoopStartsPass();

} // namespace tlc
