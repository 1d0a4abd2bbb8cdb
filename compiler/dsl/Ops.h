// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations on handles. Effects are statements (`copy`, `gemm`, `atomicAdd`);
/// expressions are pure. Fragments are combined element by element: extents are
/// equal, or 1, which is broadcast.
#pragma once

#include "compiler/dsl/Handles.h"
#include "dialects/layout/WarpPolicy.h"

#include <functional>
#include <limits>

namespace tlc::dsl::inline v1 {

#define TLC_ELEMENT_TYPE(name, ...) inline constexpr ElementType name = ElementType::name;
#include "runtime/support/ElementTypes.def"
inline constexpr float inf = std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// Positions and numbers
//===----------------------------------------------------------------------===//

/// a / b rounded up, for a >= 0 and b > 0.
Index ceilDiv(const Index &a, const Index &b, Loc loc = Loc::current());
Index min(const Index &a, const Index &b, Loc loc = Loc::current());
Index max(const Index &a, const Index &b, Loc loc = Loc::current());
Scalar min(const Scalar &a, const Scalar &b, Loc loc = Loc::current());
Scalar max(const Scalar &a, const Scalar &b, Loc loc = Loc::current());
Index where(const Predicate &condition, const Index &x, const Index &y, Loc loc = Loc::current());
Scalar where(const Predicate &condition, const Scalar &x, const Scalar &y, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// A NaN loses against a number, as in IEEE maximumNumber.
FragmentValue max(const Operand &a, const Operand &b, Loc loc = Loc::current());
FragmentValue min(const Operand &a, const Operand &b, Loc loc = Loc::current());
/// Of floats: NaN if one of them is, as in IEEE maximum.
FragmentValue maxOrNaN(const Operand &a, const Operand &b, Loc loc = Loc::current());
FragmentValue minOrNaN(const Operand &a, const Operand &b, Loc loc = Loc::current());

/// The error bound of a function (docs/dsl.md): `fast` is that of the hardware's approximation.
#define TLC_ACCURACIES(X) X(accurate) X(fast)
TLC_ENUM(Accuracy, TLC_ACCURACIES)
TLC_ENUM_NAMES(Accuracy, TLC_ACCURACIES)

FragmentValue abs(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue exp(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue exp2(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue exp10(const FragmentValue &x, Loc loc = Loc::current());
/// e^x - 1, accurate near 0 as well.
FragmentValue expm1(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue log(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue log2(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue log10(const FragmentValue &x, Loc loc = Loc::current());
/// log(1 + x), accurate near 0 as well.
FragmentValue log1p(const FragmentValue &x, Loc loc = Loc::current());
/// Rounded to nearest, unless `fast`.
FragmentValue sqrt(const FragmentValue &x, Accuracy accuracy = Accuracy::accurate, Loc loc = Loc::current());
FragmentValue rsqrt(const FragmentValue &x, Loc loc = Loc::current());
/// Of angles up to 2^20; beyond, sine, cosine and tangent are NaN. If `fast`, of angles up to 100 pi; beyond,
/// they are unspecified.
FragmentValue sin(const FragmentValue &x, Accuracy accuracy = Accuracy::accurate, Loc loc = Loc::current());
FragmentValue cos(const FragmentValue &x, Accuracy accuracy = Accuracy::accurate, Loc loc = Loc::current());
FragmentValue tan(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue atan(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue tanh(const FragmentValue &x, Accuracy accuracy = Accuracy::accurate, Loc loc = Loc::current());
/// The error function.
FragmentValue erf(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue floor(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue ceil(const FragmentValue &x, Loc loc = Loc::current());
/// To the nearest whole number, ties to even.
FragmentValue round(const FragmentValue &x, Loc loc = Loc::current());
/// Towards 0.
FragmentValue trunc(const FragmentValue &x, Loc loc = Loc::current());

/// x to the power of y as C's pow has it: NaN of a negative x where y is not whole, 1 where x is 1 or y is 0.
/// If `fast`, x is positive and not subnormal; else the result is unspecified.
FragmentValue pow(const Operand &x, const Operand &y, Accuracy accuracy = Accuracy::accurate,
                  Loc loc = Loc::current());
/// a b + c, rounded once, of floats.
FragmentValue fma(const Operand &a, const Operand &b, const Operand &c, Loc loc = Loc::current());
/// `magnitude` with the sign of `sign`, which a zero and a NaN have, too.
FragmentValue copySign(const Operand &magnitude, const Operand &sign, Loc loc = Loc::current());
/// The bits of `x` as elements of another type. Of another width, the last extent grows or shrinks: {128, 16}
/// of u32 is {128, 32} of bf16, of each pair the lower half first.
FragmentValue bitcast(const FragmentValue &x, ElementType element, Loc loc = Loc::current());
/// The elements of `x` in row-major order with other extents, also of another number of axes.
FragmentValue reshape(const FragmentValue &x, const TileExtents &extents, Loc loc = Loc::current());
/// The number from `low` to `high` that is nearest to `x`; NaN if one of the three is.
FragmentValue clamp(const FragmentValue &x, const Operand &low, const Operand &high,
                    Loc loc = Loc::current());

/// x where the condition holds, else y.
FragmentValue where(const Predicate &condition, const Operand &x, const Operand &y, Loc loc = Loc::current());

namespace detail {
/// From an element's position to whether the condition holds there.
using PositionCondition = std::function<Predicate(const std::vector<Index> &)>;
FragmentValue whereAt(const PositionCondition &condition, size_t positions, const Operand &x,
                      const Operand &y, Loc loc);

/// Number of positions a callable takes, 0 if none fits.
template <class F> constexpr size_t positionsOf() {
  if constexpr (std::is_invocable_r_v<Predicate, F &, Index>) {
    return 1;
  } else if constexpr (std::is_invocable_r_v<Predicate, F &, Index, Index>) {
    return 2;
  } else if constexpr (std::is_invocable_r_v<Predicate, F &, Index, Index, Index>) {
    return 3;
  } else {
    return 0;
  }
}
} // namespace detail

/// x where `condition(row, column)` holds for the element's position in the tile, else y.
template <class F>
  requires(detail::positionsOf<F>() != 0)
FragmentValue where(F &&condition, const Operand &x, const Operand &y, Loc loc = Loc::current()) {
  constexpr size_t positions = detail::positionsOf<F>();
  auto call = [&](const std::vector<Index> &at) -> Predicate {
    if constexpr (positions == 1) {
      return condition(at[0]);
    } else if constexpr (positions == 2) {
      return condition(at[0], at[1]);
    } else {
      return condition(at[0], at[1], at[2]);
    }
  };
  return detail::whereAt(call, positions, x, y, loc);
}

/// 0 instead of -inf and +inf: the base of an exponential that may see nothing.
FragmentValue finiteOrZero(const FragmentValue &x, Loc loc = Loc::current());
/// a / b, and 0 where b is 0.
FragmentValue divideOrZero(const Operand &a, const Operand &b, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Reductions: the reduced axis stays, with extent 1
//===----------------------------------------------------------------------===//

/// `max` and `min` ignore NaN as long as there is a number; `maxOrNaN` and `minOrNaN`, of floats, are NaN if
/// an element is. The bit operations are of integers.
#define TLC_REDUCTIONS(X) X(sum) X(max) X(min) X(product) X(maxOrNaN) X(minOrNaN) X(bitAnd) X(bitOr) X(bitXor)
TLC_ENUM(Reduction, TLC_REDUCTIONS)
TLC_ENUM_NAMES(Reduction, TLC_REDUCTIONS)

/// Negative axes count from the last: -1 is the last.
FragmentValue reduce(Reduction kind, const FragmentValue &x, int64_t axis, Loc loc = Loc::current());
FragmentValue rowSum(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue rowMax(const FragmentValue &x, Loc loc = Loc::current());
FragmentValue rowMin(const FragmentValue &x, Loc loc = Loc::current());

/// Whether a condition holds for some element along the axis, and whether for all. The axis stays, with
/// extent 1, so that `where` repeats the answer.
Predicate any(const Predicate &condition, int64_t axis, Loc loc = Loc::current());
Predicate all(const Predicate &condition, int64_t axis, Loc loc = Loc::current());

/// Position along the axis of the largest element, as i32; of equal ones the first. NaN is never the largest;
/// where all elements are NaN, it is 0.
FragmentValue argMax(const FragmentValue &x, int64_t axis = -1, Loc loc = Loc::current());
FragmentValue argMin(const FragmentValue &x, int64_t axis = -1, Loc loc = Loc::current());

/// Which elements come before another one along an axis.
enum class Direction : uint8_t { forward, backward };

/// Each element combined with all that come before it along the axis: cumulative sums, for example.
FragmentValue cumulative(Reduction kind, const FragmentValue &x, int64_t axis,
                         Direction direction = Direction::forward, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Copies a tile; statements after it see the result, in all threads. Both sides have
/// the same extents, apart from extents of 1, and the same element type.
void copy(const Slice &from, const Shared &to, Loc loc = Loc::current());
void copy(const Slice &from, Fragment &to, Loc loc = Loc::current());
void copy(const Slice &from, const Slice &to, Loc loc = Loc::current());
void copy(const Shared &from, Fragment &to, Loc loc = Loc::current());
void copy(const Shared &from, const Shared &to, Loc loc = Loc::current());
void copy(const Shared &from, const Slice &to, Loc loc = Loc::current());
void copy(const FragmentValue &from, const Shared &to, Loc loc = Loc::current());
void copy(const FragmentValue &from, const Slice &to, Loc loc = Loc::current());
void copy(const FragmentValue &from, Fragment &to, Loc loc = Loc::current());
void copy(const ReshapedTile &from, Fragment &to, Loc loc = Loc::current());
void copy(const FragmentValue &from, const ReshapedTile &to, Loc loc = Loc::current());
void copy(const TensorMemory &from, Fragment &to, Loc loc = Loc::current());
void copy(const FragmentValue &from, const TensorMemory &to, Loc loc = Loc::current());

/// The same number everywhere.
void fill(const Shared &to, const Scalar &value, Loc loc = Loc::current());
void fill(const Slice &to, const Scalar &value, Loc loc = Loc::current());
void fill(Fragment &to, const Scalar &value, Loc loc = Loc::current());

/// `to` becomes all ranks' elements, combined: their sums, the smallest or largest ones, or and, or,
/// exclusive or of them. `from` is of `Symmetric::ofAll`. Elements are of i32, u32 or i64, for sums also of
/// f32, f64, f16 or bf16, for minima and maxima also of f16 or bf16. Sums of f16 and bf16 are rounded once;
/// the order is not fixed. Elements outside the tensor become the slice's fill.
void loadSum(const Slice &from, Fragment &to, Loc loc = Loc::current());
void loadMin(const Slice &from, Fragment &to, Loc loc = Loc::current());
void loadMax(const Slice &from, Fragment &to, Loc loc = Loc::current());
void loadAnd(const Slice &from, Fragment &to, Loc loc = Loc::current());
void loadOr(const Slice &from, Fragment &to, Loc loc = Loc::current());
void loadXor(const Slice &from, Fragment &to, Loc loc = Loc::current());

/// Combines a fragment, or a number, with a slice, element by element, atomically: the slice's elements
/// become sums, the smaller or the larger of both, or and, or, exclusive or of both. The order is not fixed.
/// Elements are of i32, u32 or i64, for sums also of f32 or f64. Where the slice has a position per element,
/// several may be the same.
void atomicAdd(const FragmentValue &value, const Slice &to, Loc loc = Loc::current());
void atomicMin(const FragmentValue &value, const Slice &to, Loc loc = Loc::current());
void atomicMax(const FragmentValue &value, const Slice &to, Loc loc = Loc::current());
void atomicAnd(const FragmentValue &value, const Slice &to, Loc loc = Loc::current());
void atomicOr(const FragmentValue &value, const Slice &to, Loc loc = Loc::current());
void atomicXor(const FragmentValue &value, const Slice &to, Loc loc = Loc::current());
void atomicAdd(const Scalar &value, const Slice &to, Loc loc = Loc::current());
void atomicMin(const Scalar &value, const Slice &to, Loc loc = Loc::current());
void atomicMax(const Scalar &value, const Slice &to, Loc loc = Loc::current());
void atomicAnd(const Scalar &value, const Slice &to, Loc loc = Loc::current());
void atomicOr(const Scalar &value, const Slice &to, Loc loc = Loc::current());
void atomicXor(const Scalar &value, const Slice &to, Loc loc = Loc::current());

/// The same, and `old` becomes what the elements were; of elements outside the tensor, the slice's fill. What
/// a fragment of several elements changes at one position, it changes one after the other, in any order.
/// `value` is a number or a fragment, of which extents of 1 are repeated. It orders no other accesses:
/// `announce`, `waitFor` and `take` do.
void atomicAdd(const Operand &value, const Slice &to, Fragment &old, Loc loc = Loc::current());
void atomicMin(const Operand &value, const Slice &to, Fragment &old, Loc loc = Loc::current());
void atomicMax(const Operand &value, const Slice &to, Fragment &old, Loc loc = Loc::current());
void atomicAnd(const Operand &value, const Slice &to, Fragment &old, Loc loc = Loc::current());
void atomicOr(const Operand &value, const Slice &to, Fragment &old, Loc loc = Loc::current());
void atomicXor(const Operand &value, const Slice &to, Fragment &old, Loc loc = Loc::current());
/// The elements, of i32, u32, i64, f32 or f64, become those of `value`, and `old` becomes what they were.
void atomicExchange(const Operand &value, const Slice &to, Fragment &old, Loc loc = Loc::current());
/// Those elements, of i32, u32 or i64, that are equal to the ones of `expected` become those of `value`, and
/// `old` becomes what all of them were.
void atomicCompareAndSwap(const Operand &expected, const Operand &value, const Slice &to, Fragment &old,
                          Loc loc = Loc::current());

/// Combines a shared tile with a slice, by the TMA. The calling threads wait until it is complete.
/// Elements are i32, for sums, minima and maxima also f16 or bf16, and for sums also f32. The TMA must be
/// able to store to the tensor: its address and rows are known to be aligned to 16 bytes.
void atomicAdd(const Shared &tile, const Slice &to, Loc loc = Loc::current());
void atomicMin(const Shared &tile, const Slice &to, Loc loc = Loc::current());
void atomicMax(const Shared &tile, const Slice &to, Loc loc = Loc::current());
void atomicAnd(const Shared &tile, const Slice &to, Loc loc = Loc::current());
void atomicOr(const Shared &tile, const Slice &to, Loc loc = Loc::current());
void atomicXor(const Shared &tile, const Slice &to, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

using tlc::WarpPolicy;

/// acc += a b; a is M x K (shared or fragment), b is K x N (shared), acc is M x N: f32 for factors that are
/// both f16, bf16 or f32 (as tf32), or each e4m3 or e5m2; i32, which wraps around, for each i8 or u8.
void gemm(const Shared &a, const Shared &b, Fragment &acc, WarpPolicy policy = WarpPolicy::fullRow,
          Loc loc = Loc::current());
void gemm(const FragmentValue &a, const Shared &b, Fragment &acc, WarpPolicy policy = WarpPolicy::fullRow,
          Loc loc = Loc::current());

/// A left factor of 2:4 sparsity, M x K: of each 4 elements of a row at most 2 differ from 0. `values` are
/// these alone, M x K/2. `metadata` is of u8, M x K/8, and has four bits for each group, the first group in
/// the lowest four: the two places in the group, 0 to 3, the smaller one in the lower two bits. Of f32 there
/// is one of each 2 elements; its four bits are 4 for the first, 14 for the second; metadata is M x K/4.
/// Other bits are no places: what lies outside a tensor is 0, so `where(e == 0, 0x44, e)`.
struct Sparse {
  Shared values;
  FragmentValue metadata;
};
/// acc += a b of a sparse left factor. For wgmma M is a multiple of 64, K of 64 bytes. On a target without
/// wgmma the elements that are not stored are multiplied as zeros.
void gemm(const Sparse &a, const Shared &b, Fragment &acc, WarpPolicy policy = WarpPolicy::fullRow,
          Loc loc = Loc::current());

/// acc += (a b) scale: the product is summed up by itself, in f32 or i32, then multiplied by `scale` in f32
/// and added. Extents of `scale` are the accumulator's, or 1: numbers of rows times numbers of columns, say.
void gemmScaled(const Shared &a, const Shared &b, const FragmentValue &scale, Fragment &acc,
                WarpPolicy policy = WarpPolicy::fullRow, Loc loc = Loc::current());
void gemmScaled(const FragmentValue &a, const Shared &b, const FragmentValue &scale, Fragment &acc,
                WarpPolicy policy = WarpPolicy::fullRow, Loc loc = Loc::current());
void gemmScaled(const Sparse &a, const Shared &b, const FragmentValue &scale, Fragment &acc,
                WarpPolicy policy = WarpPolicy::fullRow, Loc loc = Loc::current());

/// Starts acc += a b. Until `gemmWait`, a and b must not change and acc must not be read.
void gemmAsync(const Shared &a, const Shared &b, Fragment &acc, WarpPolicy policy = WarpPolicy::fullRow,
               Loc loc = Loc::current());
void gemmAsync(const FragmentValue &a, const Shared &b, Fragment &acc,
               WarpPolicy policy = WarpPolicy::fullRow, Loc loc = Loc::current());
void gemmAsync(const Sparse &a, const Shared &b, Fragment &acc, WarpPolicy policy = WarpPolicy::fullRow,
               Loc loc = Loc::current());

struct ProductOptions {
  Predicate accumulate = true; ///< if not, what the accumulator holds does not count
};
/// Starts acc += a b in tensor memory. Until a `publish`, `release` or `arrive` of this role with
/// `Arrival::afterProducts` has arrived, a and b must not change and acc must not be read.
void gemmAsync(const Shared &a, const Shared &b, const TensorMemory &acc, const ProductOptions &options = {},
               Loc loc = Loc::current());
void gemmAsync(const TensorMemory &a, const Shared &b, const TensorMemory &acc,
               const ProductOptions &options = {}, Loc loc = Loc::current());
/// Waits until at most `pending` started products of this role are in flight.
void gemmWait(Fragment &acc, int64_t pending = 0, Loc loc = Loc::current());

} // namespace tlc::dsl::inline v1
