// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards no variable is left: loops and branches carry the values. Structured
/// control flow makes this one walk: each region starts with the values that reach it
/// and yields those it may have changed.

#include "compiler/transforms/Passes.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PROMOTEVARIABLES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

using Values = llvm::MapVector<Value, Value>;

/// The variables declared before `op` that something inside it writes, in order of the first write.
SmallVector<Value> writtenInside(Operation *op, const Values &values) {
  llvm::SetVector<Value> written;
  op->walk([&](WriteOp write) {
    if (values.count(write.getVariable()))
      written.insert(write.getVariable());
  });
  return written.takeVector();
}

class Promoter {
public:
  LogicalResult promote(Block &block, Values &values) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(promote(&op, values)))
        return failure();
    return success();
  }

private:
  LogicalResult promote(Operation *op, Values &values) {
    if (auto variable = dyn_cast<VariableOp>(op)) {
      values[variable.getVariable()] = variable.getInit();
      dead.push_back(op);
      return success();
    }
    if (auto read = dyn_cast<ReadOp>(op)) {
      read.getValue().replaceAllUsesWith(values.lookup(read.getVariable()));
      op->erase();
      return success();
    }
    if (auto write = dyn_cast<WriteOp>(op)) {
      values[write.getVariable()] = write.getValue();
      op->erase();
      return success();
    }
    if (op->getNumRegions() == 0)
      return success();
    SmallVector<Value> written = writtenInside(op, values);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return promoteLoop(loop, written, values);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return promoteBranch(branch, written, values);
    return promoteRegions(op, written, values);
  }

  LogicalResult promoteLoop(scf::ForOp loop, ArrayRef<Value> written, Values &values) {
    OpBuilder builder(loop);
    SmallVector<Value> inits(loop.getInitArgs());
    for (Value variable : written)
      inits.push_back(values[variable]);
    auto replacement = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                          loop.getStep(), inits);
    replacement->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    Block *body = replacement.getBody();
    body->getOperations().clear();
    body->getOperations().splice(body->end(), loop.getBody()->getOperations());
    for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), body->getArguments()))
      from.replaceAllUsesWith(to);

    Values inside = values;
    unsigned carried = loop.getNumRegionIterArgs();
    for (auto [i, variable] : llvm::enumerate(written))
      inside[variable] = replacement.getRegionIterArg(carried + i);
    if (failed(promote(*body, inside)))
      return failure();
    if (body->empty() || !body->back().hasTrait<OpTrait::IsTerminator>()) {
      builder.setInsertionPointToEnd(body);
      scf::YieldOp::create(builder, loop.getLoc());
    }
    auto yield = cast<scf::YieldOp>(body->getTerminator());
    for (Value variable : written)
      yield.getResultsMutable().append(inside[variable]);

    for (auto [from, to] : llvm::zip(loop.getResults(), replacement.getResults()))
      from.replaceAllUsesWith(to);
    for (auto [i, variable] : llvm::enumerate(written))
      values[variable] = replacement.getResult(carried + i);
    loop.erase();
    return success();
  }

  LogicalResult promoteBranch(scf::IfOp branch, ArrayRef<Value> written, Values &values) {
    OpBuilder builder(branch);
    SmallVector<Type> types(branch.getResultTypes());
    for (Value variable : written)
      types.push_back(cast<VariableType>(variable.getType()).getValueType());
    bool hasElse = !written.empty() || !branch.getElseRegion().empty();
    auto replacement = scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition(),
                                         /*addThenBlock=*/true, hasElse);
    for (auto [from, to] : llvm::zip(branch->getRegions(), replacement->getRegions())) {
      if (to.empty())
        continue;
      Block &block = to.front();
      block.clear();
      if (!from.empty())
        block.getOperations().splice(block.end(), from.front().getOperations());
      Values inside = values;
      if (failed(promote(block, inside)))
        return failure();
      if (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>()) {
        builder.setInsertionPointToEnd(&block);
        scf::YieldOp::create(builder, branch.getLoc());
      }
      auto yield = cast<scf::YieldOp>(block.getTerminator());
      for (Value variable : written)
        yield.getResultsMutable().append(inside[variable]);
    }
    for (auto [from, to] : llvm::zip(branch.getResults(), replacement.getResults()))
      from.replaceAllUsesWith(to);
    for (auto [i, variable] : llvm::enumerate(written))
      values[variable] = replacement.getResult(branch.getNumResults() + i);
    branch.erase();
    return success();
  }

  /// Roles run side by side: a write in one would reach no other.
  LogicalResult promoteRegions(Operation *op, ArrayRef<Value> written, Values &values) {
    if (!written.empty()) {
      Value variable = written.front();
      InFlightDiagnostic diag = op->emitError()
                                << describe(variable, "a variable") << " is assigned in roles but "
                                << "declared outside: roles share no variables";
      diag.attachNote(variable.getLoc()) << "declare it inside the role that assigns it";
      return diag;
    }
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        Values inside = values;
        if (failed(promote(block, inside)))
          return failure();
      }
    return success();
  }

public:
  void eraseDeclarations() {
    for (Operation *op : llvm::reverse(dead))
      op->erase();
  }

private:
  SmallVector<Operation *> dead;
};

struct PromoteVariables : impl::PromoteVariablesBase<PromoteVariables> {
  void runOnOperation() override {
    Promoter promoter;
    Values values;
    if (failed(promoter.promote(getOperation().getBody().front(), values)))
      return signalPassFailure();
    promoter.eraseDeclarations();
  }
};

} // namespace
} // namespace tlc::tile
