// SPDX-License-Identifier: Apache-2.0
/// \file
/// One element's read-modify-write, for atom, red, and the asynchronous reductions.
#pragma once

#include "runtime/emulator/ptx/Type.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tlc::emulator {

enum class AtomicOp : uint8_t {
  add,
  minimum,
  maximum,
  inc,
  dec,
  bitAnd,
  bitOr,
  bitXor,
  exchange,
  compareSwap
};

std::optional<AtomicOp> parseAtomicOp(std::string_view word);
/// Whether PTX has the operation for the type.
bool hasAtomic(AtomicOp op, Type type);
/// Sums of f32 by atom and red in global memory flush subnormals, with their sign kept; those of the copy
/// engine do not.
enum class Subnormals : uint8_t { keep, flush };
/// The element's new value, in the low bits. Up to 64 bits.
uint64_t applyAtomic(AtomicOp op, Type type, uint64_t old, uint64_t operand, uint64_t swap,
                     Subnormals subnormals);
/// Applies it to host memory, atomically towards other host threads; returns the old value.
uint64_t updateAtomically(std::byte *at, AtomicOp op, Type type, uint64_t operand, uint64_t swap,
                          Subnormals subnormals);

} // namespace tlc::emulator
