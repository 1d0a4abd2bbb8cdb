// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards equal programs are equal text, whichever compiler built the DSL.
#include "compiler/dsl/Canonicalize.h"

#include "dialects/tile/Canonicalizer.h"
#include "dialects/tile/Tile.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <set>
#include <tuple>

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {

/// Place in the source, then name, then place in the trace.
using Key = std::tuple<StringRef, unsigned, unsigned, StringRef, size_t>;

Key keyOf(Operation *op, size_t number) {
  StringRef name = op->getName().getStringRef();
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    return {place.getFilename().getValue(), place.getLine(), place.getColumn(), name, number};
  return {StringRef(), 0, 0, name, number};
}

/// What may change places with its like: only writes order reads of variables.
bool isMovable(Operation &op) {
  return op.getNumRegions() == 0 && !op.hasTrait<OpTrait::IsTerminator>() &&
         (isMemoryEffectFree(&op) || isa<tile::ReadOp>(op));
}

/// Reorders operations that follow each other: always the first, by key, whose
/// operands are there.
void orderRun(ArrayRef<Operation *> run) {
  if (run.size() < 2)
    return;
  llvm::DenseMap<Operation *, size_t> number, missing;
  for (auto [i, op] : llvm::enumerate(run))
    number[op] = i;
  std::set<Key> ready;
  for (Operation *op : run) {
    size_t count = llvm::count_if(op->getOperands(),
                                  [&](Value operand) { return number.contains(operand.getDefiningOp()); });
    missing[op] = count;
    if (count == 0)
      ready.insert(keyOf(op, number[op]));
  }
  Operation *before = run.back()->getNextNode();
  while (!ready.empty()) {
    Operation *op = run[std::get<size_t>(*ready.begin())];
    ready.erase(ready.begin());
    op->moveBefore(before);
    for (OpOperand &use : op->getUses())
      if (auto user = missing.find(use.getOwner()); user != missing.end() && --user->second == 0)
        ready.insert(keyOf(user->first, number[user->first]));
  }
}

void orderBlock(Block &block) {
  SmallVector<Operation *> run;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isMovable(op) && op.getNextNode()) {
      run.push_back(&op);
      continue;
    }
    orderRun(run);
    run.clear();
  }
}

} // namespace

void orderPureOperations(ModuleOp module) {
  module.walk([](Block *block) { orderBlock(*block); });
}

LogicalResult canonicalize(ModuleOp module) {
  orderPureOperations(module);
  PassManager passes(module->getContext());
  passes.addPass(tile::createCanonicalizer());
  passes.addPass(createCSEPass());
  return passes.run(module);
}

} // namespace tlc::dsl::inline v1
