// SPDX-License-Identifier: Apache-2.0
/// \file
/// A scheduled loop as its stages describe it: who computes what, in which round, and how far values travel.
#pragma once

#include "dialects/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace tlc::tile {

/// A loop of `last + 1` stages. Round q executes stage s for iteration q - s. Stages before `base` are left
/// out where there is no such iteration; `base` is the first early stage that has what cannot be left out,
/// such as a product in flight, or the last stage. So the rounds of the rewritten loop are those of the base
/// stage's iterations, and what is later is peeled.
class StagedLoop {
public:
  /// Every operation of the loop has a stage. What a later stage can make itself, such as a view, is repeated
  /// there, which changes the loop's body and not what it does.
  static llvm::FailureOr<StagedLoop> read(mlir::scf::ForOp loop);

  /// The number of rounds that are peeled after the loop. The rewritten loop needs at least that many
  /// iterations.
  int64_t peeled() const { return last - base; }

  int64_t stageOf(mlir::Operation *op) const;

  /// The stage that computes a value of the body; nothing for what every stage knows.
  std::optional<int64_t> homeOf(mlir::Value value);

  /// The carried value that is a sum in flight between rounds and that this product adds to, or this wait
  /// completes.
  std::optional<unsigned> chainOf(mlir::Operation *op) const;

  /// Products, or groups of copies, that are started after the one that this wait of the body is for, and
  /// before the wait in round `number`; nothing if that one is not in the body. Round `last` stands for all
  /// rounds of the rewritten loop, those after it follow the loop.
  std::optional<int64_t> startedSince(mlir::Operation *wait, int64_t number);

  mlir::scf::ForOp loop;
  int64_t last = 0, base = 0;
  llvm::SmallVector<mlir::Operation *> round;       ///< all operations, in the order of their round
  llvm::SmallVector<int64_t> carriedBy;             ///< for each carried value the stage that computes it
  llvm::MapVector<mlir::Value, int64_t> travelling; ///< for how many rounds at most

private:
  explicit StagedLoop(mlir::scf::ForOp loop) : loop(loop) {}

  void findBase();
  void repeatInLaterStages();
  void orderRound();
  void findChains();
  llvm::LogicalResult collectUses();
  llvm::LogicalResult addUse(mlir::Operation *user, mlir::Value value, int64_t stage);
  int64_t stageOfCarried(unsigned i);
  mlir::Operation *userOf(mlir::OpOperand &use);

  llvm::DenseMap<mlir::Operation *, size_t> places; ///< in the round
  llvm::DenseMap<mlir::Operation *, unsigned> chains;
};

/// Takes the stages from the loops that start such a product, so that their operations keep their order;
/// these loops.
llvm::SmallVector<mlir::scf::ForOp> removeStages(mlir::Operation *root,
                                                 llvm::function_ref<bool(GemmAsyncOp)> isConcerned);

/// Whether a round beyond the last iteration can leave the operation out, because zeros can stand for its
/// results.
bool canBeLeftOut(mlir::Operation *op);

/// Whether such a round executes the operation all the same: it has no effect, or closes a group of copies,
/// which are counted.
bool runsInEveryRound(mlir::Operation *op);

} // namespace tlc::tile
