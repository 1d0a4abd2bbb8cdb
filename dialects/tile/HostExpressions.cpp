// SPDX-License-Identifier: Apache-2.0
/// \file
/// Positions as expressions that the host evaluates at launch.
#include "dialects/tile/HostExpressions.h"

#include "dialects/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
std::optional<HostExpr::Op> hostOperation(Operation *op) {
  using Op = HostExpr::Op;
  return TypeSwitch<Operation *, std::optional<Op>>(op)
      .Case<arith::AddIOp>([](auto) { return Op::add; })
      .Case<arith::SubIOp>([](auto) { return Op::subtract; })
      .Case<arith::MulIOp>([](auto) { return Op::multiply; })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>([](auto) { return Op::ceilDiv; })
      // The compiler makes those without a sign of numbers that are not negative.
      .Case<arith::DivUIOp, arith::DivSIOp>([](auto) { return Op::divide; })
      .Case<arith::RemUIOp, arith::RemSIOp>([](auto) { return Op::remainder; })
      .Case<arith::MinUIOp, arith::MinSIOp>([](auto) { return Op::min; })
      .Case<arith::MaxUIOp, arith::MaxSIOp>([](auto) { return Op::max; })
      .Default([](Operation *) { return std::nullopt; });
}

size_t pendingOperands(const HostExpr &expr) {
  size_t pending = 0, most = 0;
  for (const HostExpr::Step &step : expr.steps) {
    bool leaf = step.op == HostExpr::Op::constant || step.op == HostExpr::Op::dimension ||
                step.op == HostExpr::Op::multiprocessors;
    pending = leaf ? pending + 1 : pending - 1;
    most = std::max(most, pending);
  }
  return most;
}

/// The number of a kernel's dimension among its dimensions.
std::optional<int64_t> dimensionNumber(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto kernel = argument ? dyn_cast_or_null<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  if (!kernel || !argument.getType().isIndex())
    return std::nullopt;
  return llvm::count_if(argument.getOwner()->getArguments().take_front(argument.getArgNumber()),
                        [](Value other) { return other.getType().isIndex(); });
}

class ExpressionBuilder {
public:
  /// Nothing, and the problem, if there is one. `terms` limits how deep this goes.
  std::optional<HostExpr> build(Value value) {
    if (++terms > maxHostTerms)
      return fail(Value());
    if (IntegerAttr constant; matchPattern(value, m_Constant(&constant)))
      return HostExpr::constant(constant.getInt());
    if (std::optional<int64_t> dimension = dimensionNumber(value))
      return HostExpr::dimension(*dimension);
    Operation *op = value.getDefiningOp();
    if (isa_and_present<MultiprocessorsOp>(op))
      return HostExpr::multiprocessors();
    std::optional<HostExpr::Op> operation = op ? hostOperation(op) : std::nullopt;
    if (!operation)
      return fail(value);
    std::optional<HostExpr> lhs = build(op->getOperand(0));
    std::optional<HostExpr> rhs = lhs ? build(op->getOperand(1)) : std::nullopt;
    return rhs ? std::optional(HostExpr::apply(*operation, *lhs, *rhs)) : std::nullopt;
  }

  NoHostExpression problem;

private:
  std::optional<HostExpr> fail(Value culprit) {
    problem = {culprit};
    return std::nullopt;
  }

  size_t terms = 0;
};
} // namespace

std::variant<HostExpr, NoHostExpression> tile::hostExpressionOf(Value value) {
  ExpressionBuilder builder;
  std::optional<HostExpr> expr = builder.build(value);
  if (expr && pendingOperands(*expr) <= HostExpr::maxDepth)
    return *std::move(expr);
  return builder.problem;
}
