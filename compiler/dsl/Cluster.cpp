// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared tiles of other blocks of the cluster. Extents, types and blocks are checked by the operations' own
/// verifiers.
#include "compiler/dsl/Cluster.h"

#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Operands.h"
#include "compiler/dsl/Slices.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Hardware.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Tiles of other blocks
//===----------------------------------------------------------------------===//

ClusterTile Shared::of(const Index &block, Loc loc) const {
  Trace *trace = traceOf(reference, block.ref());
  if (!trace)
    return {};
  Value tile = trace->use(reference, "a shared tile", loc);
  if (!tile)
    return trace->poison<ClusterTile>();
  if (slots) {
    Diagnostic &diagnostic =
        trace->error(loc, "expected a shared tile without slots because those are handed over in a block, "
                          "but got " +
                              trace->describe(tile));
    trace->noteDeclaration(diagnostic, tile);
    return trace->poison<ClusterTile>();
  }
  return ClusterTile(reference, block);
}

ClusterTile ClusterTile::rows(const Index &from, int64_t rows, Loc loc) const {
  Trace *trace = traceOf(reference, owner.ref(), from.ref());
  if (!trace)
    return {};
  Value tile = trace->use(reference, "a shared tile", loc);
  if (!tile || !trace->checkExtents("the rows of " + tile::describe(tile, "a tile"), {rows, 1}, loc))
    return trace->poison<ClusterTile>();
  if (first) {
    trace->error(loc, "expected the rows of a whole tile, but got rows of rows of " +
                          tile::describe(tile, "a tile"));
    return trace->poison<ClusterTile>();
  }
  ClusterTile part = *this;
  part.first = from;
  part.count = rows;
  return part;
}

namespace {

/// What an operation takes of a tile of the cluster; null values after a mistake.
struct Place {
  Place(Trace &trace, const ClusterTile &of, StringRef what, Loc loc) : tile(trace.use(of.ref(), what, loc)) {
    if (!tile)
      return;
    std::string name = excerpt(tile::nameOf(tile));
    block = trace.useUniform(of.block(), "the block of '" + name + "'", loc);
    if (of.firstRow())
      first = trace.useUniform(*of.firstRow(), "the first row of '" + name + "'", loc);
    isValid = block && (!of.firstRow() || first);
    Shape extents = Shape(tile::extentsOf(tile.getType()));
    if (of.firstRow())
      extents = {of.rowCount(), extents.back()};
    fragment = RankedTensorType::get(extents, tile::elementTypeOf(tile.getType()));
  }

  Value load(Trace &trace, Type type, Loc loc) const {
    return trace.create<tile::LoadFromBlockOp>(loc, type, tile, block, first);
  }
  void store(Trace &trace, Value value, Loc loc) const {
    trace.create<tile::StoreToBlockOp>(loc, value, tile, block, first);
  }

  Value tile, block, first;
  RankedTensorType fragment; ///< of its extents and elements
  bool isValid = false;
};

} // namespace

void copy(const ClusterTile &from, Fragment &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Place source(*trace, from, "the source of copy", loc);
  Value variable = trace->use(to.ref(), "the destination of copy", loc);
  if (!source.isValid || !variable)
    return;
  Type type = cast<tile::VariableType>(variable.getType()).getValueType();
  if (Value value = source.load(*trace, type, loc))
    trace->create<tile::WriteOp>(loc, value, variable);
}

void copy(const FragmentValue &from, const ClusterTile &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value value = trace->use(from.ref(), "the source of copy", loc);
  Place destination(*trace, to, "the destination of copy", loc);
  if (value && destination.isValid)
    destination.store(*trace, value, loc);
}

void copy(const Shared &from, const ClusterTile &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Value source = trace->use(from.ref(), "the source of copy", loc);
  Place destination(*trace, to, "the destination of copy", loc);
  if (!source || !destination.isValid ||
      !trace->checkFragment(tile::extentsOf(source.getType()), tile::elementTypeOf(source.getType()), loc))
    return;
  if (Value value = trace->create<tile::LoadOp>(loc, fragmentOf(source), source))
    destination.store(*trace, value, loc);
}

void copy(const ClusterTile &from, const Shared &to, Loc loc) {
  Trace *trace = traceOf(from.ref(), to.ref());
  if (!trace)
    return;
  Place source(*trace, from, "the source of copy", loc);
  Value destination = trace->use(to.ref(), "the destination of copy", loc);
  if (!source.isValid || !destination ||
      !trace->checkFragment(source.fragment.getShape(), source.fragment.getElementType(), loc))
    return;
  if (Value value = source.load(*trace, source.fragment, loc))
    trace->create<tile::StoreOp>(loc, value, destination, Value(), tile::CopyAtomAttr());
}

//===----------------------------------------------------------------------===//
// Sums and maxima
//===----------------------------------------------------------------------===//

namespace {

/// A shared tile that holds the block's fragment, where the others find it; null after a mistake.
Value share(Trace &trace, const FragmentValue &x, StringRef call, Loc loc) {
  Value value = trace.use(x.ref(), "the operand of " + call.str(), loc);
  if (!value || !checkComputable(trace, value, call, loc))
    return {};
  auto type = cast<RankedTensorType>(value.getType());
  if (trace.kernel().getCluster() < 2) {
    trace.error(loc, "expected a cluster of at least 2 blocks for " + call +
                         " because it combines what they have, but got " +
                         Twine(trace.kernel().getCluster()) + "; say k.cluster(blocks) before");
    return {};
  }
  Value tile = trace.create<tile::AllocSharedOp>(
      loc, tile::SharedType::get(trace.builder.getContext(), type.getShape(), type.getElementType()),
      trace.builder.getStringAttr(call), IntegerAttr());
  if (!tile || !trace.create<tile::StoreOp>(loc, value, tile, Value(), tile::CopyAtomAttr()))
    return {};
  return tile;
}

/// All blocks' fragments, combined in the order of the blocks.
FragmentValue combined(Arithmetic kind, const FragmentValue &x, StringRef call, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  Value tile = share(*trace, x, call, loc);
  if (!tile)
    return trace->poison<FragmentValue>();
  FragmentValue all;
  for (int64_t block = 0; block < int64_t(trace->kernel().getCluster()); ++block) {
    Value part = trace->create<tile::LoadFromBlockOp>(loc, fragmentOf(tile), tile, trace->index(block, loc),
                                                      /*first=*/Value());
    if (!part)
      return trace->poison<FragmentValue>();
    FragmentValue ofBlock = trace->make<FragmentValue>(part);
    all = block == 0 ? ofBlock : binary(kind, all, ofBlock, loc);
  }
  return all;
}

} // namespace

FragmentValue clusterSum(const FragmentValue &x, Loc loc) {
  return combined(Arithmetic::add, x, "clusterSum", loc);
}
FragmentValue clusterMax(const FragmentValue &x, Loc loc) {
  return combined(Arithmetic::max, x, "clusterMax", loc);
}

FragmentValue clusterSumShare(const FragmentValue &x, Loc loc) {
  Trace *trace = traceOf(x.ref());
  if (!trace)
    return {};
  Value tile = share(*trace, x, "clusterSumShare", loc);
  if (!tile)
    return trace->poison<FragmentValue>();
  int64_t blocks = trace->kernel().getCluster();
  ArrayRef<int64_t> extents = tile::extentsOf(tile.getType());
  if (extents.size() != 2 || extents[0] % (blocks * swizzleRows) != 0) {
    trace->error(loc, "expected a fragment of two axes and a multiple of " + Twine(blocks * swizzleRows) +
                          " rows because " + Twine(blocks) + " blocks share them, in whole groups of " +
                          Twine(swizzleRows) + ", but got " + tile::toText(extents));
    return trace->poison<FragmentValue>();
  }
  int64_t rows = extents[0] / blocks;
  auto type = RankedTensorType::get({rows, extents[1]}, tile::elementTypeOf(tile.getType()));
  Value own = trace->create<tile::BlockRankOp>(loc, trace->builder.getIndexType());
  auto index = [&](Arithmetic kind, Value value, int64_t number) {
    return arithmetic(*trace, kind, value, trace->index(number, loc), loc);
  };
  Value first = index(Arithmetic::multiply, own, rows);
  FragmentValue sum;
  // Each begins with its own, so that they do not all read one block at once.
  for (int64_t i = 0; i < blocks; ++i) {
    Value block = i == 0 ? own : index(Arithmetic::remainder, index(Arithmetic::add, own, i), blocks);
    Value part = trace->create<tile::LoadFromBlockOp>(loc, type, tile, block, first);
    if (!part)
      return trace->poison<FragmentValue>();
    FragmentValue ofBlock = trace->make<FragmentValue>(part);
    sum = i == 0 ? ofBlock : binary(Arithmetic::add, sum, ofBlock, loc);
  }
  return sum;
}

} // namespace tlc::dsl::inline v1
