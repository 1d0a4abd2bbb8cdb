// SPDX-License-Identifier: Apache-2.0
/// \file
/// What ptxas 13.0 compiles wrongly is written so that it does not (docs/developing.md has the programs that
/// showed it).
#pragma once

namespace llvm {
class Module;
}

namespace tlc {

/// Rewrites what follows, all but accesses by inline assembly, which no later optimisation may take back:
/// - Ordered comparisons of an f32 with a constant, as the opposite of the unordered ones. ptxas takes them
///   for true where the number's range says so, be it a NaN: |x| >= 0, ex2(x) > -1. Comparisons of two
///   numbers of which none is a literal constant were seen to be right, and stay.
/// - Conversions of pairs of floats of 8 bits, which get a word. If ptxas finds the upper half of a register
///   to be 0, it converts another number.
/// - Absolute values of integers, as arithmetic. ptxas takes them to be 0 or more, also that of the least
///   integer, and max(-|x|, -2) of 64 bits for -2.
/// - Accesses whose guard is a constant false: loads become zeros, stores nothing. Of a guarded load of two
///   words that is never made, ptxas leaves the second register as it was, instead of 0.
/// - Negations, absolute values and copied signs of floats of 16 bits, as bitwise operations without `and`.
///   ptxas makes a modifier of a sign, and loses it where the maximum or minimum of three numbers reads it,
///   or where a pair has one half with the modifier and one without. Where `and` masks the sign of a number
///   that was converted, it takes another half of the register.
/// - Negations of 32 bits of which a maximum or minimum is taken, as subtractions from a 0 that ptxas
///   does not know. It loses the sign of those that the maximum of three numbers reads.
/// LoopStarts.h has one more. The PTX of functions written in CUDA is not rewritten.
void avoidPtxasFaults(llvm::Module &module);

} // namespace tlc
