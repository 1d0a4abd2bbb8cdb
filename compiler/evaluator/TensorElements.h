// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a block does to an element of a tensor. Blocks run in any order, but for what counts say: an access
/// whose result depends on the order fails the evaluation.
#pragma once

#include "compiler/evaluator/Machine.h"

namespace tlc::evaluator {

/// "[3, 17] of 'X'".
std::string placeText(const GlobalTensor &tensor, int64_t element);

using ElementStep = Step (*)(Task &, mlir::Operation *, GlobalTensor &, int64_t, const Element &);

/// Gives the element of that number, which must have been written.
Step readElement(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number, Element &into);
Step writeElement(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number,
                  const Element &element);
// Several blocks may each do one of these to an element, in any order.
Step addElement(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number,
                const Element &element);
/// The smaller or the larger one stays.
Step lowerElement(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number,
                  const Element &element);
Step raiseElement(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number,
                  const Element &element);
/// And, or and exclusive or of the bits of integers.
Step clearBits(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number, const Element &element);
Step setBits(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number, const Element &element);
Step flipBits(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number, const Element &element);

/// What an element is before this block changes it: no other one may access it without an order.
Step fetchElement(Task &task, mlir::Operation *op, GlobalTensor &tensor, int64_t number, Element &old);
/// Afterwards it is this.
void replaceElement(GlobalTensor &tensor, int64_t number, const Element &element);

} // namespace tlc::evaluator
