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

/// Whether it is an element type, several of which share a byte.
bool isPacked(mlir::Type element);
/// `elementsPerUnit` of an element type, 1 for other types.
int64_t elementsPerUnit(mlir::Type element);

/// What registers hold for an element: an integer of as many bits, 8 at least, where the machine does not
/// compute with it. A packed integer has its number there, a packed float its code.
mlir::Type registerTypeOf(mlir::Type element);

/// Whether functions in CUDA C++ take elements of the type, and which types these are, for messages.
bool isOfCuda(mlir::Type element);
std::string cudaTypesText();

/// All of them, for messages.
std::string elementTypesText(mlir::MLIRContext *context);

} // namespace tlc
