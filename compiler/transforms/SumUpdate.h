// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a loop changes a sum between the products that add to it: a softmax, say, brings it to a new maximum.
#pragma once

#include "dialects/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace tlc::tile {

/// Operations on the elements of a sum that a loop carries, by splats and by numbers of rows. They stand in
/// the loop or in a branch of it, before the product.
class SumUpdate {
public:
  /// What leads from `carried`, a variable of the loop around the product, to the product's accumulator and
  /// nowhere else; nothing if it is more than such operations.
  static std::optional<SumUpdate> find(GemmOp product, mlir::BlockArgument carried);

  /// Takes them from the loop: before the product, a branch does the same to `sum` in tensor memory, from
  /// zeros in the first iteration, some columns at a time, so that few are in registers.
  void moveTo(mlir::Value sum, mlir::Value isFirst);

private:
  explicit SumUpdate(GemmOp product, mlir::BlockArgument carried) : product(product), carried(carried) {}

  bool collect(mlir::Value changed, mlir::Block *block);
  mlir::SmallVector<mlir::Value> numbersOfBranch();
  void takeOutOfBranch();
  void forEachPart(mlir::Value sum, mlir::OpBuilder &builder,
                   llvm::function_ref<void(mlir::Value, mlir::RankedTensorType)> visit) const;
  mlir::Value apply(mlir::Value part, mlir::OpBuilder &builder) const;

  GemmOp product;
  mlir::BlockArgument carried;
  mlir::scf::IfOp branch = {};              ///< around the operations, or null
  mlir::SmallVector<mlir::Operation *> ops; ///< the last one first
};

} // namespace tlc::tile
