// SPDX-License-Identifier: Apache-2.0
/// \file
/// A reader moves with what it is computed from.
#include "compiler/transforms/ReadersFirst.h"

#include "compiler/analysis/LoopProducts.h"
#include "compiler/analysis/RegisterWriters.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
/// Whether an operation of the loop may come before an earlier one, with what it is computed from, which goes
/// to `moved`.
bool mayPrecede(scf::ForOp loop, Operation *op, Operation *earlier, llvm::SetVector<Operation *> &moved) {
  moved.insert(op);
  for (size_t next = 0; next < moved.size(); ++next) {
    Operation *at = moved[next];
    if (next > 0 && !isMemoryEffectFree(at))
      return false;
    at->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *definition = operand.getDefiningOp();
            definition && definition->getBlock() == loop.getBody() && !definition->isBeforeInBlock(earlier))
          moved.insert(definition);
    });
  }
  if (isMemoryEffectFree(op))
    return true;
  for (Operation *between = earlier; between != op; between = between->getNextNode())
    if (mayConflict(between, op) || !(toleratesOverlap(*between) || isProductInFlight(between) ||
                                      isProductWait(between) || isRelease(between)))
      return false;
  return writesMemory(op) && toleratesOverlap(*op);
}
} // namespace

void tile::putReadersFirst(scf::ForOp loop) {
  for (Operation &product : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
    Value factor =
        isProductInFlight(&product) ? factorInRegisters(cast<InFlightOpInterface>(product)) : Value();
    if (!factor)
      continue;
    for (Operation *user : llvm::to_vector(factor.getUsers())) {
      Operation *reader = loop.getBody()->findAncestorOpInBlock(*user);
      if (!reader || reader == loop.getBody()->getTerminator() || isProductInFlight(reader) ||
          reader->isBeforeInBlock(&product))
        continue;
      llvm::SetVector<Operation *> moved;
      if (!mayPrecede(loop, reader, &product, moved))
        continue;
      SmallVector<Operation *> inOrder = moved.takeVector();
      llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      for (Operation *op : inOrder)
        op->moveBefore(&product);
    }
  }
}
