// SPDX-License-Identifier: Apache-2.0
/// \file
/// What transfers between the launches of a rank do.
#pragma once

#include "compiler/evaluator/Machine.h"

namespace tlc::evaluator {

/// The transfers of a rank, in their order. Each round counts as a block, which runs beside the launches that
/// wait for it.
class Transfers {
public:
  /// `numbersFrom`: of blocks, those of each transfer as many as a launch may have.
  Transfers(Evaluation &evaluation, tile::KernelOp kernel, int64_t rank, int64_t numbersFrom);

  /// Before launch number `launch`, or the end: what comes after earlier transfers knows them, and those that
  /// come before the launch are made. `known` is what the rank's launches know.
  Step reach(int64_t launch, Known &known);

private:
  struct UnderWay {
    int64_t until = 0, number = 0;
  };
  /// What the copies of a round are.
  struct Copies {
    bool areNone = true, areInside = false; ///< one is inside of the rank
  };
  Step run(program::TransferAttr transfer, int64_t firstNumber, Known &known);
  Step runRound(program::TransferAttr transfer, BlockState &block, Copies &copies);
  Step copyBox(program::TransferAttr transfer, program::TransferCopyAttr copy, Task &task, Copies &copies);
  void join(Known &known, int64_t launch);

  struct Place {
    GlobalTensor *tensor = nullptr;
    int64_t rank = 0; ///< whose
    std::vector<int64_t> position = {};
  };
  std::optional<Place> placeOf(program::TransferAttr transfer, program::PlaceAttr place,
                               llvm::ArrayRef<int64_t> extents);
  std::optional<int64_t> evaluate(program::TransferAttr transfer, program::HostExprAttr expr);
  Step fail(program::TransferAttr transfer, const llvm::Twine &message);

  Evaluation &evaluation;
  tile::KernelOp kernel;
  int64_t rank, numbersFrom;
  std::vector<int64_t> dimensions; ///< and, in a round, its number
  llvm::SmallVector<program::TransferAttr> all;
  size_t next = 0;
  llvm::SmallVector<UnderWay> underWay;
};

} // namespace tlc::evaluator
