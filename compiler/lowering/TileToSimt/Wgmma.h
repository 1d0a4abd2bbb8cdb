// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products by wgmma: descriptors of shared factors, one instruction per 64 rows and 32 bytes of the
/// reduction axis, 64 of a sparse product, and at most 256 columns.
#pragma once

#include "compiler/lowering/TileToSimt/Lowering.h"

namespace tlc::lowering {

/// What one warpgroup has of an accumulator in wgmma's layout.
struct WgmmaShare {
  int64_t alongM = 1, alongN = 1; ///< grid of warpgroups
  int64_t blocks = 1;             ///< of 64 rows
  int64_t columns = wgmmaColumnStep;
};

/// Nothing if the layout is not that of wgmma without padding.
std::optional<WgmmaShare> wgmmaShare(const FragmentLayout &layout, llvm::ArrayRef<int64_t> shape,
                                     int64_t warps);

/// A gemm, synchronous or not.
struct Product {
  Operation *op;
  Value a, b, acc; ///< tile values
  Value metadata;  ///< of a sparse left factor, or null
};

/// Starts the product as one group; the result is in flight. Null, with a diagnostic, if it cannot be done.
Value startWgmma(KernelLowering &k, const Product &product);

/// Columns of a product that one instruction makes.
struct ColumnPart {
  int64_t first, columns;
};

/// Shares `columns` out among as few instructions of at most `most` columns as can be, all but the last in
/// whole `units`, such as the panels of a right factor.
llvm::SmallVector<ColumnPart> partsOfColumns(int64_t columns, int64_t most, int64_t unit);

/// What is wrong with two factors that a matrix unit reads in these layouts; empty if nothing is. Without a
/// left layout, that factor has its elements one after the other.
std::string orderMismatch(const SharedLayout *left, const SharedLayout &right);

} // namespace tlc::lowering
