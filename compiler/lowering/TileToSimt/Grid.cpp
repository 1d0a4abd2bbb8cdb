// SPDX-License-Identifier: Apache-2.0
/// \file
/// The number of blocks, as expressions that the host evaluates at launch; this
/// block's position among them.
#include "compiler/lowering/TileToSimt/Lowering.h"
#include "runtime/artifact/Artifact.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
std::optional<HostExpr::Op> hostOperation(Operation *op) {
  using Op = HostExpr::Op;
  return TypeSwitch<Operation *, std::optional<Op>>(op)
      .Case<arith::AddIOp>([](auto) { return Op::add; })
      .Case<arith::SubIOp>([](auto) { return Op::subtract; })
      .Case<arith::MulIOp>([](auto) { return Op::multiply; })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>([](auto) { return Op::ceilDiv; })
      // Extents are not negative, so that rounding down and towards zero are one.
      .Case<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>([](auto) { return Op::floorDiv; })
      .Case<arith::RemUIOp, arith::RemSIOp>([](auto) { return Op::remainder; })
      .Case<arith::MinUIOp, arith::MinSIOp>([](auto) { return Op::min; })
      .Case<arith::MaxUIOp, arith::MaxSIOp>([](auto) { return Op::max; })
      .Default([](Operation *) { return std::nullopt; });
}

/// Shared subexpressions are repeated, which must not get out of hand.
constexpr size_t maxTerms = 256;

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

InFlightDiagnostic tooLarge(tile::GridOp grid) {
  return grid.emitOpError() << "expected extents of at most " << maxTerms << " terms, " << HostExpr::maxDepth
                            << " of them pending at once, because every launch evaluates them, but got more";
}

/// The value as an expression of what the host knows. `terms` counts those of the whole extent, and so limits
/// how deep this goes.
FailureOr<HostExpr> hostExpr(tile::GridOp grid, Value value, size_t &terms) {
  if (++terms > maxTerms)
    return tooLarge(grid);
  if (IntegerAttr constant; matchPattern(value, m_Constant(&constant)))
    return HostExpr::constant(constant.getInt());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    tile::KernelOp kernel = grid->getParentOfType<tile::KernelOp>();
    if (argument.getOwner()->getParentOp() == kernel && argument.getType().isIndex()) {
      int64_t dimension = 0;
      for (unsigned i = 0; i < argument.getArgNumber(); ++i)
        dimension += kernel.getBody().getArgument(i).getType().isIndex();
      return HostExpr::dimension(dimension);
    }
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_present<tile::MultiprocessorsOp>(op))
    return HostExpr::multiprocessors();
  if (std::optional<HostExpr::Op> operation = op ? hostOperation(op) : std::nullopt) {
    FailureOr<HostExpr> lhs = hostExpr(grid, op->getOperand(0), terms);
    if (failed(lhs))
      return failure();
    FailureOr<HostExpr> rhs = hostExpr(grid, op->getOperand(1), terms);
    if (failed(rhs))
      return failure();
    return HostExpr::apply(*operation, *lhs, *rhs);
  }
  InFlightDiagnostic diagnostic =
      grid.emitOpError()
      << "expected extents that the host can compute from the kernel's dimensions, "
         "constants and the number of multiprocessors by integer arithmetic, but got another value";
  diagnostic.attachNote(value.getLoc()) << "it depends on this";
  return diagnostic;
}
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::GridOp op) {
  SmallVector<Attribute> grid;
  for (Value extent : op.getExtents()) {
    size_t terms = 0;
    FailureOr<HostExpr> expr = hostExpr(op, extent, terms);
    if (failed(expr))
      return failure();
    if (pendingOperands(*expr) > HostExpr::maxDepth)
      return tooLarge(op);
    grid.push_back(program::HostExprAttr::get(k.b.getContext(), *expr));
  }
  k.setGrid(grid);
  Type i32 = k.b.getI32Type();
  Value position[3] = {NVVM::BlockIdXOp::create(k.b, i32), NVVM::BlockIdYOp::create(k.b, i32),
                       NVVM::BlockIdZOp::create(k.b, i32)};
  for (auto [result, block] : llvm::zip(op.getPosition(), position))
    k.set(result, block);
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::MultiprocessorsOp op) {
  k.setHostOnly(op.getCount());
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::BlocksOp op) {
  k.set(op.getCount(), NVVM::GridDimXOp::create(k.b, k.b.getI32Type()));
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::BlockRankOp op) {
  k.set(op.getRank(), simt::ClusterRankOp::create(k.b));
  return success();
}

void lowering::addGridLowerings(LoweringTable &table) {
  table.add<tile::GridOp>(lowerOp);
  table.add<tile::MultiprocessorsOp>(lowerOp);
  table.add<tile::BlocksOp>(lowerOp);
  table.add<tile::BlockRankOp>(lowerOp);
}
