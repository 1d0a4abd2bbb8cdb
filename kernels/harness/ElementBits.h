// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers as the bits of an element type and back. Narrow types are rounded
/// to nearest even.
#pragma once

#include "runtime/support/ElementType.h"

#include <cstddef>

namespace tlc::kernels {

/// Writes `value` as one element to `bytes`.
void storeElement(ElementType type, std::byte *bytes, double value);
double loadElement(ElementType type, const std::byte *bytes);

} // namespace tlc::kernels
