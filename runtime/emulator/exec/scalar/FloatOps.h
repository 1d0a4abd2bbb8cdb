// SPDX-License-Identifier: Apache-2.0
/// \file
/// Floating-point arithmetic under names that integers share (add, min, ...).
#pragma once

#include "runtime/emulator/exec/decode/Decoder.h"

namespace tlc::emulator {

enum class FloatOp : uint8_t {
  add,
  subtract,
  multiply,
  fusedMultiplyAdd,
  divide,
  minimum,
  maximum,
  absolute,
  negate,
};

/// Takes the modifiers left and the operands, and emits.
void decodeFloatOp(Decoder &decoder, FloatOp op);
/// Those that choose an operand or change its sign.
void decodeFloatChoice(Decoder &decoder, FloatOp op);

} // namespace tlc::emulator
