// SPDX-License-Identifier: Apache-2.0
/// \file
/// The instructions' fragments as modes. All tensor-core fragments are built from one
/// 8x8 pattern: lane l holds, in row l / 4, the 32 bits at position l % 4.
#include "dialects/layout/StockLayouts.h"

#include "dialects/layout/InstructionLayouts.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;

namespace {

/// The warps of a grid along two axes, warps along M fastest; an axis of -1 replicates.
Modes warpModes(WarpGrid grid, int axisM, int64_t stepM, int axisN, int64_t stepN) {
  auto mode = [](int64_t extent, int axis, int64_t step) {
    return axis == LayoutMode::replicatedAxis ? LayoutMode::replicated(extent)
                                              : LayoutMode{extent, axis, step};
  };
  return {mode(grid.alongM, axisM, stepM), mode(grid.alongN, axisN, stepN)};
}

Modes withWarpgroup(Modes warpgroups) {
  warpgroups.insert(warpgroups.begin(), LayoutMode{warpsPerWarpgroup, 0, mmaSyncRows});
  return warpgroups;
}

/// Elements along k of the largest instruction.
int64_t depthOf(int elementBits) {
  return std::max<int64_t>(mmaSyncColumns, matrixDepthBytes * 8 / elementBits);
}

/// An instruction's fragment, repeated in registers as these modes say.
FragmentLayout repeated(const LayoutMap &fragment, std::initializer_list<LayoutMode> times, Modes warps) {
  Modes reg = fragment.modes(0);
  reg.insert(reg.end(), times);
  return FragmentLayout::get(2, std::move(reg), fragment.modes(1), std::move(warps));
}

int64_t largestDivisorUpTo(int64_t value, int64_t limit) {
  int64_t divisor = std::min(value, limit);
  while (value % divisor != 0)
    --divisor;
  return divisor;
}

} // namespace

WarpGrid tlc::divideWarps(WarpPolicy policy, int64_t m, int64_t n, int64_t units, int64_t unitM,
                          int64_t unitN) {
  if (policy == WarpPolicy::fullRow)
    return {units, 1};
  if (policy == WarpPolicy::fullColumn)
    return {1, units};
  // The least work for the busiest unit first, then the least operand traffic (half
  // the perimeter of a unit's share), then rows, which reductions prefer.
  WarpGrid best{units, 1};
  int64_t bestWork = -1, bestTraffic = 0;
  for (int64_t alongN = 1; alongN <= units; ++alongN) {
    if (units % alongN != 0)
      continue;
    WarpGrid grid{units / alongN, alongN};
    int64_t shareM = alignTo(ceilDiv(std::max<int64_t>(m, 1), grid.alongM), unitM);
    int64_t shareN = alignTo(ceilDiv(std::max<int64_t>(n, 1), grid.alongN), unitN);
    int64_t work = shareM * shareN, traffic = shareM + shareN;
    if (bestWork < 0 || work < bestWork || (work == bestWork && traffic < bestTraffic)) {
      best = grid;
      bestWork = work;
      bestTraffic = traffic;
    }
  }
  return best;
}

WarpGrid tlc::wgmmaGrid(int64_t m, int64_t n, int64_t warpgroups, WarpPolicy policy) {
  return divideWarps(policy, m, n, warpgroups, wgmmaRows, mmaSyncColumns);
}

WarpGrid tlc::mmaGrid(int64_t m, int64_t n, int64_t warps, WarpPolicy policy) {
  return divideWarps(policy, m, n, warps, mmaSyncRows, mmaSyncColumns);
}

FragmentLayout tlc::wgmmaAccumulator(int64_t m, int64_t n, WarpGrid warpgroups) {
  int64_t blocks = ceilDiv(m, wgmmaRows * warpgroups.alongM),
          pieces = ceilDiv(n, mmaSyncColumns * warpgroups.alongN);
  return repeated(mmaSyncAccumulator(mmaSyncRows), {{pieces, 1, mmaSyncColumns}, {blocks, 0, wgmmaRows}},
                  withWarpgroup(warpModes(warpgroups, 0, blocks * wgmmaRows, 1, pieces * mmaSyncColumns)));
}

FragmentLayout tlc::wgmmaOperandA(int64_t m, int64_t k, int elementBits, WarpGrid warpgroups,
                                  const RowOrder &order) {
  int64_t depth = depthOf(elementBits), blocks = ceilDiv(m, wgmmaRows * warpgroups.alongM);
  FragmentLayout places = repeated(
      mmaSyncA(mmaSyncRows, depth, elementBits), {{ceilDiv(k, depth), 1, depth}, {blocks, 0, wgmmaRows}},
      withWarpgroup(warpModes(warpgroups, 0, blocks * wgmmaRows, LayoutMode::replicatedAxis, 0)));
  return order.empty() ? places : withOrder(places, 1, order);
}

int64_t tlc::metadataBytesOfStep(int elementBits) {
  return matrixDepthBytes * 8 / elementBits / storedPerMetadataByte(elementBits);
}

int64_t tlc::stepsOfMetadataWord(int64_t bytes, int elementBits) {
  return elementBits != 8 && isMultipleOf(bytes, 2 * metadataBytesOfStep(elementBits)) ? 2 : 1;
}

FragmentLayout tlc::wgmmaMetadata(int64_t m, int64_t bytes, int elementBits, WarpGrid warpgroups) {
  int64_t steps = stepsOfMetadataWord(bytes, elementBits), width = steps * metadataBytesOfStep(elementBits),
          blocks = ceilDiv(m, wgmmaRows * warpgroups.alongM);
  return repeated(sparseMetadata(elementBits, steps),
                  {{ceilDiv(bytes, width), 1, width}, {blocks, 0, wgmmaRows}},
                  withWarpgroup(warpModes(warpgroups, 0, blocks * wgmmaRows, LayoutMode::replicatedAxis, 0)));
}

FragmentLayout tlc::withOrder(const FragmentLayout &places, int axis, const RowOrder &order) {
  std::vector<LayoutMap::Input> elements;
  std::vector<Dim> axes;
  for (int i = 0; i < places.rank(); ++i) {
    elements.push_back({axisDim(i), {{places.coveredExtent(i), i, 1}}});
    axes.push_back(axisDim(i));
  }
  Modes &along = elements[size_t(axis)].modes;
  along = mapOf(order, axisDim(axis), places.coveredExtent(axis)).inverse()->modes(0);
  for (LayoutMode &mode : along)
    mode.axis = axis;
  std::optional<LayoutMap> layout = places.map().then(LayoutMap(std::move(elements), std::move(axes)));
  assert(layout && "the instruction's digits and the order's divide one another");
  return FragmentLayout::get(*layout);
}

FragmentLayout tlc::mmaAccumulator(int64_t m, int64_t n, WarpGrid warps) {
  int64_t blocks = ceilDiv(m, mmaSyncRows * warps.alongM), pieces = ceilDiv(n, mmaSyncColumns * warps.alongN);
  return repeated(mmaSyncAccumulator(mmaSyncRows), {{pieces, 1, mmaSyncColumns}, {blocks, 0, mmaSyncRows}},
                  warpModes(warps, 0, blocks * mmaSyncRows, 1, pieces * mmaSyncColumns));
}

FragmentLayout tlc::accumulatorFor(int64_t m, int64_t n, int64_t warps) {
  if (warps % warpsPerWarpgroup == 0 && m % (wgmmaRows * (warps / warpsPerWarpgroup)) == 0)
    return wgmmaAccumulator(m, n, {warps / warpsPerWarpgroup, 1});
  return mmaAccumulator(m, n, mmaGrid(m, n, warps, WarpPolicy::square));
}

FragmentLayout tlc::mmaOperandA(int64_t m, int64_t k, int elementBits, WarpGrid warps) {
  int64_t depth = depthOf(elementBits), blocks = ceilDiv(m, mmaSyncRows * warps.alongM);
  return repeated(mmaSyncA(mmaSyncRows, depth, elementBits),
                  {{ceilDiv(k, depth), 1, depth}, {blocks, 0, mmaSyncRows}},
                  warpModes(warps, 0, blocks * mmaSyncRows, LayoutMode::replicatedAxis, 0));
}

FragmentLayout tlc::mmaOperandB(int64_t k, int64_t n, int elementBits, WarpGrid warps) {
  int64_t depth = depthOf(elementBits), pieces = ceilDiv(n, mmaSyncColumns * warps.alongN);
  return repeated(mmaSyncB(depth, elementBits), {{ceilDiv(k, depth), 0, depth}, {pieces, 1, mmaSyncColumns}},
                  warpModes(warps, LayoutMode::replicatedAxis, 0, 1, pieces * mmaSyncColumns));
}

Result<FragmentLayout> tlc::tensorMemoryFragment(int64_t rows, int64_t n, int elementBits, int64_t warps) {
  int64_t warpgroups = warps / warpsPerWarpgroup;
  if (warps % warpsPerWarpgroup != 0 || warps == 0)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected whole warpgroups because each warp of one reaches a quarter of the lanes "
                    "of tensor memory, but got {} warps",
                    warps)};
  const TensorMemoryShape shape = tensorMemoryShapeOf(rows, elementBits);
  const int64_t bits = tensorMemoryStep(shape).columns * registerBits;
  if (!isMultipleOf(n * elementBits, warpgroups * bits))
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected columns of {} bits that {} warpgroups can share because each has a multiple of "
                    "{} bits of {} rows of tensor memory, but got {}",
                    elementBits, warpgroups, bits, rows, n)};
  // One move for each warp, in its lanes and its warpgroup's columns; then back from there to the tile.
  int64_t partBits = n * elementBits / warpgroups;
  LayoutMap move = tensorMemoryMove({.shape = shape, .repeat = partBits / bits}, elementBits);
  LayoutMap moves({{Dim::reg, move.modes(0)},
                   {Dim::lane, move.modes(1)},
                   {Dim::warp, {{warpsPerWarpgroup, 0, lanesPerWarp}, {warpgroups, 1, partBits}}}},
                  move.outputs());
  return FragmentLayout::get(*moves.then(*tensorMemoryRows(rows, n, elementBits).inverse()));
}

std::optional<MatrixFragment> tlc::matchMatrixFragment(const FragmentLayout &layout, int columnAxis,
                                                       int elementBits) {
  if ((elementBits != 8 && elementBits != 16 && elementBits != 32) || layout.rank() < 2)
    return std::nullopt;
  int64_t perWord = registerBits / elementBits;
  const Modes &lane = layout.modes(HardwareAxis::lane);
  const Modes &reg = layout.modes(HardwareAxis::reg);
  // A row of registers: words along one axis, four lanes along it, eight lanes across.
  if (lane.size() != 2 || lane[0].extent != 4 || lane[0].step != perWord || lane[1].extent != 8 ||
      lane[1].step != 1)
    return std::nullopt;
  int wordAxis = lane[0].axis, acrossAxis = lane[1].axis;
  // An element of 32 bits is a whole register, which no digit counts.
  if (perWord != 1 &&
      (reg.empty() || reg[0].axis != wordAxis || reg[0].step != 1 || reg[0].extent != perWord))
    return std::nullopt;
  if (columnAxis != wordAxis && (columnAxis != acrossAxis || elementBits != 16))
    return std::nullopt;
  MatrixFragment match;
  match.columnAxis = columnAxis;
  match.rowAxis = columnAxis == wordAxis ? acrossAxis : wordAxis;
  match.form = columnAxis == wordAxis ? MatrixFragment::Form::plain : MatrixFragment::Form::transposed;
  match.matricesPerWarp = layout.registersPerThread() / perWord;
  return match;
}

FragmentLayout tlc::blockedLayout(const Shape &shape, int elementBits, int64_t numWarps, int contiguousAxis,
                                  int64_t maxVectorBytes) {
  int rank = int(shape.size());
  std::vector<int> order;
  if (rank > 0)
    order.push_back(contiguousAxis);
  for (int axis = rank - 1; axis >= 0; --axis)
    if (axis != contiguousAxis)
      order.push_back(axis);

  // Per axis: what is still uncovered and the step at which the next mode continues.
  Shape open = shape, step(size_t(rank), 1);
  Modes reg, lane, warp;
  auto cover = [&](Modes &modes, int axis, int64_t extent) {
    modes.push_back({extent, axis, step[size_t(axis)]});
    step[size_t(axis)] *= extent;
    open[size_t(axis)] = ceilDiv(open[size_t(axis)], extent);
  };

  if (rank > 0) {
    int64_t widest = std::max<int64_t>(1, maxVectorBytes * 8 / elementBits);
    cover(reg, contiguousAxis,
          std::min(powerOf2Factor(std::max<int64_t>(1, shape[size_t(contiguousAxis)])),
                   int64_t(1) << log2Floor(widest)));
  }
  int64_t lanes = lanesPerWarp, warps = numWarps;
  for (int axis : order) {
    int64_t taken = std::min(lanes, nextPowerOf2(open[size_t(axis)]));
    cover(lane, axis, taken);
    lanes /= taken;
  }
  for (int axis : order) {
    int64_t taken = largestDivisorUpTo(warps, std::max<int64_t>(1, open[size_t(axis)]));
    cover(warp, axis, taken);
    warps /= taken;
  }
  for (int axis : order)
    cover(reg, axis, std::max<int64_t>(1, open[size_t(axis)]));
  lane.push_back(LayoutMode::replicated(lanes));
  warp.push_back(LayoutMode::replicated(warps));
  return FragmentLayout::get(rank, reg, lane, warp);
}

FragmentLayout tlc::defaultLayout(const Shape &shape, int elementBits, int64_t numWarps) {
  return blockedLayout(shape, elementBits, numWarps, int(shape.size()) - 1);
}
