// SPDX-License-Identifier: Apache-2.0
/// \file
/// Divisors of positions, by induction over the arithmetic that makes them.
#include "compiler/analysis/Divisibility.h"

#include "dialects/tile/Tile.h"
#include "mlir/IR/Matchers.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace tlc;

namespace {
constexpr int maxDepth = 16;

int64_t divisorOf(Value value, int depth);

int64_t divisorOfArgument(BlockArgument argument, int depth) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    return argument == loop.getInductionVar()
               ? std::gcd(divisorOf(loop.getLowerBound(), depth), divisorOf(loop.getStep(), depth))
               : 1;
  if (auto kernel = dyn_cast<tile::KernelOp>(parent))
    if (auto dimension =
            dyn_cast_if_present<program::DimensionAttr>(kernel.getArgument(argument.getArgNumber())))
      return dimension.getFixed() >= 0 ? dimension.getFixed() : dimension.getMultipleOf();
  return 1;
}

int64_t divisorOf(Value value, int depth) {
  if (IntegerAttr constant; matchPattern(value, m_Constant(&constant)))
    // The least number has no absolute value, but is a multiple of this one.
    return constant.getInt() == std::numeric_limits<int64_t>::min() ? int64_t(1) << 62
                                                                    : std::abs(constant.getInt());
  if (depth == maxDepth)
    return 1;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return divisorOfArgument(argument, depth + 1);
  Operation *op = value.getDefiningOp();
  auto of = [&](unsigned operand) { return divisorOf(op->getOperand(operand), depth + 1); };
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinUIOp, arith::MinSIOp, arith::MaxUIOp, arith::MaxSIOp,
          arith::RemUIOp, arith::RemSIOp>(op))
    return std::gcd(of(0), of(1));
  if (isa<arith::SelectOp>(op))
    return std::gcd(of(1), of(2));
  if (isa<arith::MulIOp>(op)) {
    // Powers of two survive a wrap-around, and they are what alignment asks for.
    constexpr int64_t enough = 1 << 20;
    int64_t lhs = of(0), rhs = of(1);
    return lhs == 0 || rhs == 0 ? 0 : std::gcd(lhs, enough) * std::gcd(rhs, enough);
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return of(0);
  return 1;
}
} // namespace

int64_t tile::knownDivisor(Value value) { return divisorOf(value, 0); }
