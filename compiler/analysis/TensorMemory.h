// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a target has what a kernel does in tensor memory.
#pragma once

#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"
#include "runtime/target/TensorColumns.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <optional>
#include <string>

namespace tlc::tile {

/// Fails, with a diagnostic, where there is no tensor memory, or no instruction for a product in it.
llvm::LogicalResult checkTensorMemory(KernelOp kernel, const Target &target);

/// Why the sum of a product cannot lie in tensor memory, with a role of its own that starts the product;
/// empty if it can. The kernel is in phase `promoted`.
std::string sumInTensorMemoryProblem(GemmOp product, const Target &target);

/// Why no role of its own can use a factor that a copy fills, if products for which `adds` holds are that
/// role's, and another role makes the copies for which `isAhead` holds; empty if it can.
std::string factorReadByThreads(GemmOp product, llvm::function_ref<bool(GemmOp)> adds,
                                llvm::function_ref<bool(mlir::Operation *)> isAhead);

/// Why no instruction makes the product with its sum in tensor memory; empty if one does.
std::string tensorMemoryProductProblem(ProductOpInterface product, const Target &target);

/// Whether it is a product that adds in tensor memory, now or after `tile-place-sums`.
bool addsInTensorMemory(mlir::Operation *op);

/// Whether each element of the fragment is known to be 0, of floats the positive zero.
bool isZero(mlir::Value fragment);

/// Whether the first tile has columns of the second one (`over`).
bool liesOver(mlir::Value tile, mlir::Value below);
/// Whether the tiles are the same, or one lies over the other.
bool sharesColumns(mlir::Value tile, mlir::Value other);

/// Columns of a kernel's tiles in tensor memory.
struct KernelColumns {
  explicit KernelColumns(KernelOp kernel);

  /// The number of the tile that it is a view of, or that this tile lies over.
  std::optional<size_t> find(mlir::Value view) const;

  TensorColumns columns;
  llvm::DenseMap<mlir::Operation *, size_t> tiles; ///< by allocation
};

/// Columns that products take: first all sums, then left factors in registers.
class TensorMemoryRoom {
public:
  /// `factors`: whether left factors may lie there.
  TensorMemoryRoom(KernelOp kernel, const Target &target, bool factors);

  int64_t columns() const; ///< taken
  int64_t columnLimit() const { return limit; }
  /// Returns false where the sum does not fit.
  bool takeSum(GemmOp product);
  void returnSum(GemmOp product);

  /// Where a left factor lies.
  struct FactorPlace {
    bool isTensorMemory = false;
    /// The product whose sum has the columns, null if the factor has its own. The factor is computed from
    /// that sum, which nothing needs afterwards. The next product there comes after the one that reads the
    /// factor because one thread's products are made in the order in which it starts them.
    GemmOp below = {};
  };
  /// Allocates columns for the factor, if enough are left. `adds`: whether a product's sum lies in tensor
  /// memory. `warps` load and store: with more than one warpgroup a factor does not lie over a sum, since one
  /// would store where another one may not have loaded yet.
  FactorPlace placeFactor(GemmOp product, int64_t warps, llvm::function_ref<bool(GemmOp)> adds);

private:
  struct Tile {
    mlir::Operation *product;
    bool isFactor;
    int64_t rows, columns;
  };
  bool take(GemmOp product, mlir::Value fragment, bool isFactor);

  bool factors;
  int64_t limit;
  llvm::SmallVector<Tile> tiles;
  /// Products whose left factors lie over sums, and the products of these.
  llvm::SmallMapVector<mlir::Operation *, mlir::Operation *, 4> covered;
};

} // namespace tlc::tile
