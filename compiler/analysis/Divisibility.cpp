// SPDX-License-Identifier: Apache-2.0
/// \file
/// Divisors of positions, by induction over the arithmetic that makes them.
#include "compiler/analysis/Divisibility.h"

#include "dialects/tile/Tile.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseSet.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace tlc;

namespace {
constexpr int maxDepth = 16;
/// Powers of two survive a wrap-around, and they are what alignment asks for.
constexpr int64_t enough = 1 << 20;

/// The divisors of one position and of what it is made of.
class Divisors {
public:
  int64_t of(Value value, int depth = 0);

private:
  int64_t ofArgument(BlockArgument argument, int depth);
  int64_t ofResult(OpResult result, int depth);
  int64_t ofCarried(Value initial, Value yielded, int depth) {
    return std::gcd(std::gcd(of(initial, depth), of(yielded, depth)), enough);
  }

  /// What loops carry and is being looked at. What follows from itself puts no bound on its divisor, 0; that
  /// of the start and of what is added then holds for every round.
  llvm::SmallDenseSet<Value> carried;
};

int64_t Divisors::ofArgument(BlockArgument argument, int depth) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (argument == loop.getInductionVar())
      return std::gcd(of(loop.getLowerBound(), depth), of(loop.getStep(), depth));
    if (!carried.insert(argument).second)
      return 0;
    int64_t divisor = ofCarried(loop.getTiedLoopInit(argument)->get(),
                                loop.getTiedLoopYieldedValue(argument)->get(), depth);
    carried.erase(argument);
    return divisor;
  }
  if (auto kernel = dyn_cast<tile::KernelOp>(parent))
    if (auto dimension =
            dyn_cast_if_present<program::DimensionAttr>(kernel.getArgument(argument.getArgNumber())))
      return dimension.getFixed() >= 0 ? dimension.getFixed() : dimension.getMultipleOf();
  return 1;
}

int64_t Divisors::ofResult(OpResult result, int depth) {
  Operation *op = result.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(op)) // the start's if it makes no round
    return of(loop.getRegionIterArg(result.getResultNumber()), depth);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return std::gcd(of(branch.thenYield().getOperand(result.getResultNumber()), depth),
                    of(branch.elseYield().getOperand(result.getResultNumber()), depth));
  auto ofOperand = [&](unsigned operand) { return of(op->getOperand(operand), depth); };
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinUIOp, arith::MinSIOp, arith::MaxUIOp, arith::MaxSIOp,
          arith::RemUIOp, arith::RemSIOp>(op))
    return std::gcd(ofOperand(0), ofOperand(1));
  if (isa<arith::SelectOp>(op))
    return std::gcd(ofOperand(1), ofOperand(2));
  if (isa<arith::MulIOp>(op)) {
    int64_t lhs = ofOperand(0), rhs = ofOperand(1);
    return lhs == 0 || rhs == 0 ? 0 : std::gcd(lhs, enough) * std::gcd(rhs, enough);
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return ofOperand(0);
  return 1;
}

int64_t Divisors::of(Value value, int depth) {
  if (IntegerAttr constant; matchPattern(value, m_Constant(&constant)))
    // The least number has no absolute value, but is a multiple of this one.
    return constant.getInt() == std::numeric_limits<int64_t>::min() ? int64_t(1) << 62
                                                                    : std::abs(constant.getInt());
  if (depth == maxDepth)
    return 1;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument, depth + 1);
  return ofResult(cast<OpResult>(value), depth + 1);
}
} // namespace

int64_t tile::knownDivisor(Value value) { return Divisors().of(value); }
