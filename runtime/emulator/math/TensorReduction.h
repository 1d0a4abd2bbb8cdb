// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tcgen05.ld.red makes of the registers that it loads.
#pragma once

#include <cstdint>
#include <span>

namespace tlc::emulator {

/// Of the registers of each thread the least or the greatest, by the rules of min and max.
struct TensorReduction {
  enum class Element : uint8_t { f32, u32, s32 };
  Element element = Element::f32;
  bool isMaximum = false;
  bool isAbsolute = false;    ///< of the elements' absolute values
  bool propagatesNan = false; ///< any NaN wins; otherwise it loses
};

/// One number of each thread; `registers[r * 32 + thread]`, as `loadTensor` gives them.
void reduceRegisters(const TensorReduction &reduction, std::span<const uint32_t> registers,
                     std::span<uint32_t> results);

} // namespace tlc::emulator
