// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards the store of a tile comes after the first product of the next tile, whose
/// work it would otherwise delay: the loop over tiles carries the values to store.

#include "compiler/analysis/BoxRelation.h"
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Reports.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tlc::tile {
#define GEN_PASS_DEF_DEFERSTORES
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// A loop over tiles whose store can wait.
struct TileLoop {
  scf::ForOp loop;
  scf::IfOp
      products; ///< the test that a tile has products, as tile-expand-pipeline leaves it; null if it must
  GemmAsyncOp first; ///< the tile's first product
  StoreOp store;
  SliceOp slice;
};

/// The last operation of the loop's body that has an effect on memory.
Operation *lastEffect(scf::ForOp loop) {
  for (Operation &op : llvm::reverse(loop.getBody()->without_terminator()))
    if (!isMemoryEffectFree(&op) && !onlyReports(&op))
      return &op;
  return nullptr;
}

std::optional<TileLoop> match(scf::ForOp loop) {
  TileLoop found{loop, {}, {}, {}, {}};
  // Where warpgroups take turns, one's products run under the other's store anyway.
  if (loop.walk([](TakeTurnOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return std::nullopt;
  found.store = dyn_cast_or_null<StoreOp>(lastEffect(loop));
  if (!found.store || found.store.getAtom() != CopyAtom::tma)
    return std::nullopt;
  found.slice = found.store.getDestination().getDefiningOp<SliceOp>();
  if (!found.slice || found.slice.getFill() || found.slice.isSymmetric())
    return std::nullopt; // other ranks wait for what a symmetric tensor gets
  // What is still to be stored nothing else may read or write.
  bool isAlone = found.slice.getDisjoint() || found.slice.getTensor().hasOneUse();
  if (!isAlone || !found.slice->hasOneUse() ||
      relate(found.slice, found.slice, loop) != BoxRelation::disjoint)
    return std::nullopt;
  auto firstIn = [](Block &block) {
    auto products = block.getOps<GemmAsyncOp>();
    return products.empty() ? GemmAsyncOp() : *products.begin();
  };
  found.first = firstIn(*loop.getBody());
  if (found.first)
    return found;
  for (auto branch : loop.getBody()->getOps<scf::IfOp>()) {
    found.first = firstIn(branch.getThenRegion().front());
    found.products = branch;
    if (found.first && !branch.getElseRegion().empty())
      return found;
  }
  return std::nullopt;
}

/// The parts of a store that differ from tile to tile: the value, then the position and the limit.
SmallVector<Value> partsOf(TileLoop tile) {
  SmallVector<Value> parts = {tile.store.getValue()};
  llvm::append_range(parts, tile.slice.getOrigin());
  if (tile.slice.getLimit())
    parts.push_back(tile.slice.getLimit());
  return parts;
}

void storeIf(OpBuilder &builder, Value any, ValueRange parts, TileLoop tile) {
  Location loc = tile.store.getLoc();
  auto branch = scf::IfOp::create(builder, loc, any, /*withElseRegion=*/false);
  OpBuilder inside = branch.getThenBodyBuilder();
  IRMapping mapping;
  mapping.map(partsOf(tile), parts);
  auto slice = cast<SliceOp>(inside.clone(*tile.slice, mapping));
  if (!slice.getDisjoint()) // which its position no longer shows
    slice.setDisjoint("proven");
  inside.clone(*tile.store, mapping);
}

void defer(TileLoop tile) {
  scf::ForOp loop = tile.loop;
  OpBuilder builder(loop);
  Location loc = tile.store.getLoc();
  auto type = cast<RankedTensorType>(tile.store.getValue().getType());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
  Value nowhere = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<Value> inits = {arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false)),
                              SplatOp::create(builder, loc, type, zero)};
  inits.append(partsOf(tile).size() - 1, nowhere);

  unsigned carried = loop.getNumRegionIterArgs();
  IRRewriter rewriter(builder);
  auto yields = [&](OpBuilder &inside, Location, ArrayRef<BlockArgument>) {
    SmallVector<Value> values = {arith::ConstantOp::create(inside, loc, inside.getBoolAttr(true))};
    llvm::append_range(values, partsOf(tile));
    return values;
  };
  auto extended = cast<scf::ForOp>(
      *loop.replaceWithAdditionalYields(rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, yields));
  ValueRange arguments = extended.getRegionIterArgs().drop_front(carried);

  builder.setInsertionPointAfter(tile.first);
  storeIf(builder, arguments.front(), arguments.drop_front(), tile);
  if (tile.products) {
    builder.setInsertionPointToStart(&tile.products.getElseRegion().front());
    storeIf(builder, arguments.front(), arguments.drop_front(), tile);
  }
  builder.setInsertionPointAfter(extended);
  ValueRange last = extended.getResults().drop_front(carried);
  storeIf(builder, last.front(), last.drop_front(), tile);

  tile.store.erase();
  if (tile.slice->use_empty())
    tile.slice.erase();
}

struct DeferStores : impl::DeferStoresBase<DeferStores> {
  using Base::Base;

  void runOnOperation() override {
    if (!enable)
      return;
    SmallVector<TileLoop> tiles;
    getOperation().walk([&](scf::ForOp loop) {
      if (std::optional<TileLoop> tile = match(loop))
        tiles.push_back(*tile);
    });
    for (TileLoop tile : tiles)
      defer(tile);
  }
};

} // namespace
} // namespace tlc::tile
