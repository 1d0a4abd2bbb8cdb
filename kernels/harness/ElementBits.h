// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers as the bits of an element type and back. Narrow types are rounded
/// to nearest even.
#pragma once

#include "runtime/support/ElementType.h"

#include <cstddef>
#include <cstdint>

namespace tlc::kernels {

/// The bits of `value` as an element, from the lowest on.
uint64_t encodeElement(ElementType type, double value);
/// The number that the lowest bits stand for.
double decodeElement(ElementType type, uint64_t code);

/// Writes `value` as element `number` of those at `bytes`; packed ones beside it keep their bits.
void storeElement(ElementType type, std::byte *bytes, double value, int64_t number = 0);
double loadElement(ElementType type, const std::byte *bytes, int64_t number = 0);
/// The bits of an element, from the lowest on.
uint64_t loadCode(ElementType type, const std::byte *bytes, int64_t number = 0);
void storeCode(ElementType type, std::byte *bytes, uint64_t code, int64_t number = 0);

} // namespace tlc::kernels
