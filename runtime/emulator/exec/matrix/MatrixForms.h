// SPDX-License-Identifier: Apache-2.0
/// \file
/// Modifiers that the matrix instructions share.
#pragma once

#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/math/Mma.h"

namespace tlc::emulator {

/// The element that a type names as matrix instructions use it.
std::optional<MatrixElement> matrixElement(Type type);
/// Takes the first modifier left that is an element, also of 4 bits or 1.
std::optional<MatrixElement> takeMatrixElement(Decoder &decoder);
/// Takes "m16n8k16"; false with the error set when there is none.
bool takeShape(Decoder &decoder, unsigned &m, unsigned &n, unsigned &k);
/// Takes the rounding of f64 products.
Rounding takeMmaRounding(Decoder &decoder);

/// Registers side by side, as Mma.h wants them. 64-bit ones take two, the low word first.
void loadRegisters(const Warp &warp, std::span<const Slot> slots, uint32_t *to);
void storeRegisters(Warp &warp, std::span<const Slot> slots, const uint32_t *from);

} // namespace tlc::emulator
