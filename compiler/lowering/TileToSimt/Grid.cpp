// SPDX-License-Identifier: Apache-2.0
/// \file
/// The number of blocks, as expressions that the host evaluates at launch; this
/// block's position among them.
#include "compiler/lowering/TileToSimt/Lowering.h"
#include "dialects/tile/HostExpressions.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
FailureOr<HostExpr> hostExpr(tile::GridOp grid, Value extent) {
  auto expr = tile::hostExpressionOf(extent);
  if (auto *known = std::get_if<HostExpr>(&expr))
    return std::move(*known);
  Value culprit = std::get<tile::NoHostExpression>(expr).culprit;
  if (!culprit)
    return grid.emitOpError()
           << "expected extents of at most " << tile::maxHostTerms << " terms, " << HostExpr::maxDepth
           << " of them pending at once, because every launch evaluates them, but got more";
  InFlightDiagnostic diagnostic =
      grid.emitOpError()
      << "expected extents that the host can compute from the kernel's dimensions, "
         "constants and the number of multiprocessors by integer arithmetic, but got another value";
  diagnostic.attachNote(culprit.getLoc()) << "it depends on this";
  return diagnostic;
}
} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::GridOp op) {
  SmallVector<Attribute> grid;
  for (Value extent : op.getExtents()) {
    FailureOr<HostExpr> expr = hostExpr(op, extent);
    if (failed(expr))
      return failure();
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
