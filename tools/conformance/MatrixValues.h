// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of matrices for the matrix groups.
#pragma once

#include "tools/conformance/Program.h"

#include <string_view>

namespace tlc::conformance {

/// An operand's element type by its PTX name.
struct MatrixType {
  std::string_view name;
  unsigned bits;                               ///< that it takes in memory
  unsigned exponentBits = 0, fractionBits = 0; ///< 0 for integers
  bool isInteger() const { return exponentBits == 0; }
};
inline constexpr MatrixType matrixF16 = {"f16", 16, 5, 10}, matrixBf16 = {"bf16", 16, 8, 7},
                            matrixTf32 = {"tf32", 32, 8, 10}, matrixE4m3 = {"e4m3", 8, 4, 3},
                            matrixE5m2 = {"e5m2", 8, 5, 2}, matrixF64 = {"f64", 64, 11, 52},
                            matrixF32 = {"f32", 32, 8, 23}, matrixS8 = {"s8", 8}, matrixU8 = {"u8", 8},
                            matrixS4 = {"s4", 4}, matrixU4 = {"u4", 4}, matrixB1 = {"b1", 1},
                            matrixS32 = {"s32", 32};

enum class Values : uint8_t {
  integers, ///< small, so that every sum is exact in whatever order it is taken
  unit,     ///< any significand, magnitudes of 2^-4 to 2
  wide,     ///< any significand, exponents far apart: sums round and cancel
  special,  ///< small integers, and now and then an infinity, NaN, or subnormal
  extreme,  ///< the largest, the smallest and subnormal numbers, and many zeros
};
std::string_view toString(Values values);

/// The bits of one element.
uint64_t matrixElement(MatrixType type, Values values, Random &random);
/// Packed elements.
std::vector<std::byte> matrixElements(MatrixType type, Values values, size_t bytes, Random &random);

/// The format of an accumulator: f16 pairs, f32, f64, integers.
Format accumulatorFormat(MatrixType type);

} // namespace tlc::conformance
