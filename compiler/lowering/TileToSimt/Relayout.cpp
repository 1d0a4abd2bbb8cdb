// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments from one layout into another, and broadcasts, which are that and a
/// choice of registers.
#include "compiler/lowering/TileToSimt/Relayout.h"

#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/Relayout.h"
#include "dialects/layout/Reshape.h"
#include "runtime/support/Math.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// Whether this lane is one of `lanes`.
Value isOneOf(Emitter &b, uint32_t lanes, Value lane) {
  Value shifted = arith::ShRUIOp::create(b, b.i32(int32_t(lanes)), lane);
  return arith::TruncIOp::create(b, b.getI1Type(), shifted);
}

/// The lane that each lane reads: bit by bit, from the lane's own bits where the table
/// follows them, from a 32-entry bit table where it does not.
Value sourceLane(Emitter &b, const RelayoutMove &move, Value lane) {
  constexpr int laneBits = log2Floor(lanesPerWarp);
  int64_t kept = 0, fixed = 0;
  Value rest = b.i32(0);
  for (int bit = 0; bit < laneBits; ++bit) {
    uint32_t table = 0, own = 0;
    for (uint32_t at = 0; at < 32; ++at)
      if (move.lanes >> at & 1) {
        table |= uint32_t(move.sourceLane[at] >> bit & 1) << at;
        own |= (at >> bit & 1) << at;
      }
    if (table == own) {
      kept |= 1 << bit;
    } else if (table == move.lanes) {
      fixed |= 1 << bit;
    } else if (table != 0) {
      Value set = b.bitAnd(arith::ShRUIOp::create(b, b.i32(int32_t(table)), lane), 1);
      rest = b.add(rest, b.mul(set, int64_t(1) << bit));
    }
  }
  return b.add(b.add(b.bitAnd(lane, kept), fixed), rest);
}

/// The value of another lane. The instruction moves 32 bits.
Value shuffle(Emitter &b, Value scalar, Value lane) {
  Type type = scalar.getType(), i32 = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto move = [&](Value word) -> Value {
    return NVVM::ShflOp::create(b, i32, b.i32(-1), word, lane, b.i32(31), NVVM::ShflKind::idx, UnitAttr());
  };
  Type integer = b.getIntegerType(bits);
  Value raw = type == integer ? scalar : arith::BitcastOp::create(b, integer, scalar).getResult();
  if (bits < 32) {
    raw = arith::TruncIOp::create(b, integer, move(arith::ExtUIOp::create(b, i32, raw)));
  } else if (bits == 32) {
    raw = move(raw);
  } else {
    Value words = b.recast(b.splat(raw, 1), i32);
    Value moved[] = {move(b.extract(words, 0)), move(b.extract(words, 1))};
    raw = b.extract(b.recast(b.pack(moved), integer), 0);
  }
  return type == integer ? raw : arith::BitcastOp::create(b, type, raw).getResult();
}

Value applyMoves(KernelLowering &k, Value value, const RelayoutPlan &plan) {
  Emitter &b = k.b;
  SmallVector<int64_t> renamed;
  for (const std::vector<RelayoutMove> &moves : plan.moves)
    if (moves.empty()) // padding
      renamed.push_back(0);
    else if (moves.size() == 1 && moves[0].isLocal())
      renamed.push_back(moves[0].sourceRegister);
  if (renamed.size() == plan.moves.size())
    return b.pick(value, renamed);
  SmallVector<Value> registers;
  for (const std::vector<RelayoutMove> &moves : plan.moves) {
    Value reg;
    for (const RelayoutMove &move : moves) {
      Value moved = b.extract(value, move.sourceRegister);
      if (!move.isLocal())
        moved = shuffle(b, moved, sourceLane(b, move, k.team.lane));
      reg = reg ? b.select(isOneOf(b, move.lanes, k.team.lane), moved, reg) : moved;
    }
    registers.push_back(reg ? reg : b.extract(value, 0));
  }
  return b.pack(registers);
}
} // namespace

Value lowering::relayout(KernelLowering &k, Value value, const FragmentLayout &from, const FragmentLayout &to,
                         ArrayRef<int64_t> shape) {
  if (from == to)
    return value;
  RelayoutPlan plan = planRelayout(from, to, Shape(shape.begin(), shape.end()));
  return plan.kind == RelayoutKind::throughShared ? Value() : applyMoves(k, value, plan);
}

static LogicalResult lowerOp(KernelLowering &k, tile::ConvertLayoutOp op) {
  RankedTensorType from = op.getSource().getType(), to = op.getResult().getType();
  ArrayRef<int64_t> shape = from.getShape();
  if (!op.getScratch()) {
    Value result = relayout(k, k.value(op.getSource()), k.layoutOf(from), k.layoutOf(to), shape);
    if (!result)
      return op.emitOpError() << "expected scratch memory because elements move between warps from "
                              << printLayout(k.layoutOf(from)) << " to " << printLayout(k.layoutOf(to))
                              << "; run 'tile-materialize-relayouts' before 'tile-to-simt'";
    k.set(op.getResult(), result);
    return success();
  }
  const SharedTile &scratch = k.shared(op.getScratch());
  Value value = k.value(op.getSource());
  Type element = cast<VectorType>(value.getType()).getElementType();
  // Memory holds no single bits.
  bool bits = element.isInteger(1);
  if (bits) {
    element = k.b.getI8Type();
    value = arith::ExtUIOp::create(k.b, k.b.vectorOf(k.layoutOf(from).registersPerThread(), element), value);
  }
  if (ArrayRef<int64_t>(scratch.shape) != shape || scratch.element != element)
    return op.emitOpError() << "expected scratch memory for a tile of " << from << ", but got "
                            << op.getScratch().getType();
  // The previous use of the scratch memory must be over.
  if (failed(k.syncTeam()))
    return failure();
  storeShared(k, scratch, k.layoutOf(from), shape, value);
  if (failed(k.syncTeam()))
    return failure();
  Value result = loadShared(k, scratch, k.layoutOf(to), shape);
  if (bits)
    result = arith::TruncIOp::create(k.b, k.registersOf(to), result);
  k.set(op.getResult(), result);
  return success();
}

static LogicalResult lowerOp(KernelLowering &k, tile::BroadcastOp op) {
  RankedTensorType from = op.getSource().getType(), to = op.getResult().getType();
  SmallVector<int> axes;
  FragmentLayout needed = k.layoutOf(to);
  for (auto [axis, extents] : llvm::enumerate(llvm::zip(from.getShape(), to.getShape())))
    if (std::get<0>(extents) != std::get<1>(extents)) {
      axes.push_back(int(axis));
      needed = needed.reduced(int(axis));
    }
  Value source = relayout(k, k.value(op.getSource()), k.layoutOf(from), needed, from.getShape());
  if (!source)
    return op.emitOpError() << "expected the source in the layout " << printLayout(needed)
                            << " because the result's threads need it, but got "
                            << printLayout(k.layoutOf(from))
                            << " and elements move between warps; insert 'tile.convert_layout'";
  k.set(op.getResult(), k.b.pick(source, reducedRegisters(k.layoutOf(to), needed, axes)));
  return success();
}

/// The registers hold the bits in the same order.
static LogicalResult lowerOp(KernelLowering &k, tile::ReshapeOp op) {
  auto tileOf = [](Value fragment) {
    return RowMajorTile{tile::shapeOf(fragment), tile::elementBitsOf(fragment)};
  };
  const FragmentLayout &from = k.layoutOf(op.getSource().getType()), &to = k.layoutOf(op.getType());
  std::optional<FragmentLayout> layout = reshaped(from, tileOf(op.getSource()), tileOf(op.getResult()));
  if (layout != to)
    return op.emitOpError() << "expected a result in the layout that " << printLayout(from)
                            << " is when reshaped because nothing moves, but got " << printLayout(to);
  k.set(op.getResult(), k.b.recast(k.value(op.getSource()), k.registersOf(op.getType()).getElementType()));
  return success();
}

void lowering::addRelayoutLowerings(LoweringTable &table) {
  table.add<tile::ConvertLayoutOp>(lowerOp);
  table.add<tile::BroadcastOp>(lowerOp);
  table.add<tile::ReshapeOp>(lowerOp);
}
