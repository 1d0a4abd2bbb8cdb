// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element types as DLPack names them.
#pragma once

#include "runtime/support/ElementType.h"

#include <algorithm>
#include <optional>

namespace tlc {

/// The element type with this DLDataTypeCode and number of bits, for one lane; nothing if there is none.
constexpr std::optional<ElementType> elementOfDlpack(int code, int bits) {
  const auto *const found = std::ranges::find_if(elementTable, [=](const ElementFacts &facts) {
    return facts.dlpack == code && int(facts.bits) == bits;
  });
  return found == elementTable.end() ? std::nullopt : std::optional(found->type);
}

} // namespace tlc
