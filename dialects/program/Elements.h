// SPDX-License-Identifier: Apache-2.0
/// \file
/// The element types as types of MLIR. Integers with a sign are MLIR's signless ones, so that `arith`
/// computes with them; those without are `ui8` and the like.
#pragma once

#include "mlir/IR/Types.h"
#include "runtime/support/ElementType.h"

#include <optional>
#include <string>

namespace tlc {

/// What memory can hold; nothing for other types.
std::optional<ElementType> toElementType(mlir::Type type);
mlir::Type toMlirType(ElementType type, mlir::MLIRContext *context);

/// Of one element, or of those of a vector or tensor.
bool isComputed(mlir::Type type);

/// What registers hold for an element: an integer of as many bits where the machine does not compute with it.
mlir::Type registerTypeOf(mlir::Type element);

/// All of them, for messages.
std::string elementTypesText(mlir::MLIRContext *context);

} // namespace tlc
