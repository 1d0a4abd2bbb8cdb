// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of slices of tensors and of shared tiles.
#pragma once

#include "compiler/evaluator/Machine.h"
#include "compiler/evaluator/TensorElements.h"

namespace tlc::evaluator {

/// The tensors that an access through the slice reaches: those of all ranks, or one.
llvm::ArrayRef<GlobalTensor *> tensorsOf(const Slice &slice);

/// The number in the tensor of the slice's element of that number; nothing if it is outside, though the
/// program may have said that none is.
std::optional<int64_t> elementOf(const Slice &slice, int64_t number, bool &breaksPromise);
Step failUnchecked(Task &task, mlir::Operation *op, const Slice &slice);

/// Does `step` with each of the elements that lie in the tensor, on all ranks if the slice is of them.
Step forEachInside(Task &task, mlir::Operation *op, const Slice &slice, llvm::ArrayRef<Element> elements,
                   ElementStep step);
std::optional<std::vector<Element>> readSlice(Task &task, mlir::Operation *op, const Slice &slice);
/// All ranks' elements, combined.
std::optional<std::vector<Element>> readAllRanks(Task &task, mlir::Operation *op, const Slice &slice,
                                                 tile::CombineKind kind);

} // namespace tlc::evaluator
