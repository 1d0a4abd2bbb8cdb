// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensors that a traced program declares.
#pragma once

#include "compiler/dsl/Diagnostic.h"
#include "kernels/Registry.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tlc::kernels {

/// Which of how many devices that run the program together.
struct RankOf {
  int64_t rank = 0, ranks = 1;
};

/// Those of a rank, in the order of the arguments, without workspaces. `valueOf` gives the value of a
/// dimension by name, or why there is none; an error passes it on. Integers are among 0 to 7, as they may be
/// positions. `membersOf` gives the extents of the members of a table of addresses.
Result<std::vector<TensorSpec>>
tensorsOf(mlir::ModuleOp program, RankOf rank, llvm::function_ref<Result<int64_t>(llvm::StringRef)> valueOf,
          llvm::function_ref<Result<std::vector<int64_t>>(llvm::StringRef, int64_t axes)> membersOf);

/// Whether the program says what one of several devices does: it asks for its rank, or has symmetric tensors.
bool isOfRanks(mlir::ModuleOp program);

/// The line that declares the dimension, scalar or tensor of that name; nothing if none does.
std::optional<dsl::Position> positionOf(mlir::ModuleOp program, llvm::StringRef name);

/// The names and types of the program's scalar arguments.
std::vector<std::pair<std::string, ElementType>> scalarsOf(mlir::ModuleOp program);

} // namespace tlc::kernels
