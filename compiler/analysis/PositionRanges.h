// SPDX-License-Identifier: Apache-2.0
/// \file
/// Between which numbers a position lies, whatever the arguments are: proofs about boxes ask for it.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace tlc::tile {

/// What must hold for the ends of a range to be right.
enum class RangeCondition : uint8_t {
  none,
  divisorsAreNotZero,   ///< else the language leaves the position open
  nothingNeedsMoreBits, ///< no number on the way to the position needs more than 32 either
};

/// The ends of a range, both included.
struct PositionRange {
  static constexpr int64_t least = -(int64_t(1) << 31), largest = (int64_t(1) << 31) - 1;

  int64_t min = least, max = largest;
  RangeCondition condition = RangeCondition::none;

  bool isNonNegative() const { return min >= 0; }
  bool isProven() const { return condition == RangeCondition::none; }
  /// What a number of 32 bits can be at most, however it was computed.
  int64_t most() const { return isProven() ? max : largest; }
};

/// The ranges of a kernel's positions, by the operations that make them; they stand for one state of the IR.
class PositionRanges {
public:
  PositionRange of(mlir::Value position);
  /// Whether `steps` steps after each position of the loop is a number of 32 bits, too, so that comparing it
  /// with the loop's end tells whether it is a position.
  bool fitsAfter(mlir::scf::ForOp loop, int64_t steps);
  /// How far `steps` steps of the loop go at most; nothing if a step may be below 1.
  std::optional<int64_t> reachOf(mlir::scf::ForOp loop, int64_t steps);

private:
  PositionRange decide(mlir::Value value);
  PositionRange ofArgument(mlir::BlockArgument argument);
  PositionRange ofCarried(mlir::Value argument, mlir::Value initial, mlir::Value yielded);
  PositionRange ofResult(mlir::OpResult result);

  llvm::DenseMap<mlir::Value, PositionRange> answers;
  llvm::SmallVector<mlir::Value> order; ///< of the answers
  int depth = 0, hypotheses = 0;
};

} // namespace tlc::tile
