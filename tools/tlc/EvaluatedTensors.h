// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensors of a kernel's problem for the evaluator.
#pragma once

#include "compiler/evaluator/Evaluator.h"
#include "kernels/Registry.h"
#include "kernels/harness/HostTensor.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace tlc::driver {

/// The number of an element of that type.
inline double valueOf(ElementType type, const evaluator::Element &element) {
  return isInteger(type) ? static_cast<double>(element.integer) : element.value;
}

/// What a tensor holds before a launch; undefined elements for an output.
evaluator::Tensor evaluatedTensor(const kernels::TensorSpec &spec, const kernels::HostTensor &host);

/// The scalar of that name, whose launches get any number of its type.
kernels::Parameter scalarParameter(std::string name, ElementType type, std::string value = {});
/// The scalars of a program of phase `input`, from the values of its kernel. An error if one has no value.
Result<std::vector<evaluator::Element>> evaluatedScalars(mlir::ModuleOp program,
                                                         const kernels::Parameters &values);

/// Evaluates a program of phase `input` on its ranks; `specs` and `tensors` are those of all, rank by rank.
Result<evaluator::Report> evaluateRanks(mlir::ModuleOp program, llvm::ArrayRef<kernels::TensorSpec> specs,
                                        llvm::ArrayRef<evaluator::Element> scalars, size_t ranks,
                                        std::vector<evaluator::Tensor> &tensors,
                                        const evaluator::Options &options);

} // namespace tlc::driver
