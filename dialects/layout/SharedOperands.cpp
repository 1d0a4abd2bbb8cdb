// SPDX-License-Identifier: Apache-2.0
/// \file
/// Derives wgmma descriptors and TMA boxes from shared-memory layouts.
#include "dialects/layout/SharedOperands.h"

#include "dialects/layout/LayoutText.h"
#include "runtime/support/Math.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;

namespace {

constexpr TmaFacts tma;
constexpr int64_t maxBoxExtent = tma.maxBoxExtent;
/// Descriptor offsets count rows of core matrices in 14 bits.
constexpr int64_t maxDescriptorOffset = ((int64_t(1) << 14) - 1) * matrixRowBytes;

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// The largest part of at most a box that divides the extent: all of it, or a multiple of
/// the granule; 0 if there is none.
int64_t largestPart(int64_t extent, int64_t granule) {
  if (extent <= maxBoxExtent)
    return extent;
  for (int64_t part = maxBoxExtent / granule * granule; part > 0; part -= granule)
    if (extent % part == 0)
      return part;
  return 0;
}

/// What would give the rows of a tile panels that fit; empty if it is not their length.
std::string cureOfPanels(const SharedLayout &layout) {
  int64_t row = layout.shape()[size_t(layout.contiguousAxis())];
  int64_t narrowest = swizzleSpan(Swizzle::bytes32) * 8 / layout.elementBits();
  if (isMultipleOf(row, narrowest))
    return "";
  return fmt::format("; a multiple of {} along axis {} would do", narrowest, layout.contiguousAxis());
}

Result<void> checkOperand(const SharedLayout &layout, int kAxis, const FactorReader &reader) {
  const auto [instruction, depthBytes, transposesBytes] = reader;
  if (layout.rank() < 2 || kAxis < layout.rank() - 2 || kAxis >= layout.rank())
    return invalid(fmt::format("expected the reduction axis to be one of the last two of {} axes, but got {}",
                               layout.rank(), kAxis));
  if (layout.elementBits() != 8 && layout.elementBits() != 16 && layout.elementBits() != 32)
    return invalid(fmt::format("expected elements of 8, 16 or 32 bits because {} reads no others, but got {}",
                               instruction, layout.elementBits()));
  const bool canBeTransposed = layout.elementBits() == 16 || (layout.elementBits() == 8 && transposesBytes);
  if (layout.contiguousAxis() != kAxis && !canBeTransposed)
    return invalid(
        fmt::format("expected axis {} to be contiguous because {} reads operands of {} bits only "
                    "K-major, but axis {} is; store the tile transposed, or copy its t() to a second tile",
                    kAxis, instruction, layout.elementBits(), layout.contiguousAxis()));
  if (layout.rowPadding() != 0)
    return invalid(fmt::format("expected no row padding because {} reads whole 8-row atoms, but got {} bytes",
                               instruction, layout.rowPadding()));
  if (!layout.hasNaturalOrder() && layout.contiguousAxis() != kAxis)
    return invalid(fmt::format("expected elements in order because axis {} is not reduced, but they are "
                               "interleaved",
                               layout.contiguousAxis()));
  int64_t span = swizzleSpan(layout.swizzle()) * 8 / layout.elementBits();
  if (layout.panelExtent() != span)
    return invalid(fmt::format("expected panels of {} elements because {} reads {} bytes per row of an atom "
                               "with swizzle {}, but got {}{}",
                               span, instruction, swizzleSpan(layout.swizzle()), toString(layout.swizzle()),
                               layout.panelExtent(), cureOfPanels(layout)));
  if (!isMultipleOf(layout.shape()[size_t(layout.contiguousAxis())], span))
    return invalid(
        fmt::format("expected a multiple of {} elements along axis {} because panels must be full, "
                    "but got {}; choose a narrower swizzle",
                    span, layout.contiguousAxis(), layout.shape()[size_t(layout.contiguousAxis())]));
  if (!isMultipleOf(layout.rows(), swizzleRows))
    return invalid(
        fmt::format("expected a multiple of {0} along axis {1} because atoms have {0} rows, but got {2}",
                    swizzleRows, *layout.rowAxis(), layout.rows()));
  int64_t k = layout.shape()[size_t(kAxis)], perInstruction = depthBytes * 8 / layout.elementBits();
  if (int64_t period = periodOf(layout.rowOrder()); !isMultipleOf(perInstruction, period))
    return invalid(
        fmt::format("expected an order whose period divides {0} elements of {1} bits because one {2} reduces "
                    "that many, but got a period of {3}",
                    perInstruction, layout.elementBits(), instruction, period));
  if (!isMultipleOf(k, perInstruction))
    return invalid(fmt::format("expected a multiple of {} along the reduction axis {} because one {} reduces "
                               "that many elements of {} bits, but got {}",
                               perInstruction, kAxis, instruction, layout.elementBits(), k));
  if (layout.contiguousAxis() == kAxis && layout.swizzle() != Swizzle::none &&
      swizzleSpan(layout.swizzle()) < depthBytes)
    return invalid(
        fmt::format("expected a swizzle of {} bytes or more because one {} reads as many of a row, but "
                    "got {}",
                    depthBytes, instruction, toString(layout.swizzle())));
  return {};
}

} // namespace

Result<WgmmaOperand> tlc::wgmmaOperand(const SharedLayout &layout, int kAxis, const FactorReader &reader) {
  if (Result<void> ok = checkOperand(layout, kAxis, reader); !ok)
    return ok.error();
  WgmmaOperand operand;
  operand.layout = layout;
  operand.kAxis = kAxis;
  operand.swizzle = layout.swizzle();
  operand.majorness = layout.contiguousAxis() == kAxis ? Majorness::k : Majorness::mn;
  operand.kPerInstruction = reader.depthBytes * 8 / layout.elementBits();

  int64_t nextAtom = swizzleRows * layout.rowPitch(), nextPanel = layout.panelPitch();
  bool coreMatrices = layout.swizzle() == Swizzle::none;
  if (operand.majorness == Majorness::k) {
    operand.leadingByteOffset = coreMatrices ? nextPanel : matrixRowBytes;
    operand.strideByteOffset = nextAtom;
  } else {
    operand.leadingByteOffset = coreMatrices ? nextAtom : nextPanel;
    operand.strideByteOffset = coreMatrices ? nextPanel : nextAtom;
  }
  if (std::max(operand.leadingByteOffset, operand.strideByteOffset) > maxDescriptorOffset)
    return invalid(
        fmt::format("expected panels at most {} bytes apart because a descriptor has 14 bits for it, "
                    "but got {}",
                    maxDescriptorOffset, nextPanel));
  return operand;
}

int64_t WgmmaOperand::startOffset(int64_t mn, int64_t kStep) const {
  Coordinates at(layout.shape().size(), 0);
  at[size_t(kAxis)] = kStep * kPerInstruction;
  at[size_t(kAxis == layout.rank() - 1 ? layout.rank() - 2 : layout.rank() - 1)] = mn;
  // The unit applies the swizzle to the addresses that it forms, so the start is linear.
  return layout.linearOffset(at);
}

bool WgmmaOperand::hasPartsOf(int64_t elements) const {
  return majorness == Majorness::k || elements % layout.panelExtent() == 0 ||
         layout.panelExtent() % elements == 0;
}

Result<TmaBoxes> tlc::tmaBoxes(const SharedLayout &layout) {
  if (!layout.hasNaturalOrder())
    return invalid("expected elements in order because TMA moves whole rows, but they are interleaved");
  if (layout.rowPadding() != 0)
    return invalid(
        fmt::format("expected no row padding because TMA writes rows back to back, but got {} bytes",
                    layout.rowPadding()));
  if (layout.rank() > int(tma.maxRank))
    return invalid(fmt::format("expected at most {} axes because tensor maps have no more, but got {}",
                               tma.maxRank, layout.rank()));
  int64_t inner = std::min(layout.panelExtent(), layout.shape()[size_t(layout.contiguousAxis())]);
  if (!isMultipleOf(inner * layout.elementBits(), tma.innerBoxGranularity * 8) ||
      !isMultipleOf(layout.rowPitch(), tma.innerBoxGranularity))
    return invalid(
        fmt::format("expected rows of a multiple of {} bytes because TMA moves no less, but got {} "
                    "elements of {} bits",
                    tma.innerBoxGranularity, inner, layout.elementBits()));
  if (layout.swizzle() != Swizzle::none &&
      !isMultipleOf(layout.shape()[size_t(layout.contiguousAxis())], layout.panelExtent()))
    return invalid(fmt::format(
        "expected full panels of {} elements along axis {}, but got an extent of {}; choose "
        "a narrower swizzle",
        layout.panelExtent(), layout.contiguousAxis(), layout.shape()[size_t(layout.contiguousAxis())]));

  // A panel is cut further where a box is limited: along rows always; along the contiguous axis, in parts
  // that begin where the TMA may write, each row by itself, as parts of rows are not adjacent.
  int64_t rowGranule = layout.swizzle() == Swizzle::none ? 1 : swizzleRows;
  bool cutsRows = inner > maxBoxExtent || inner * layout.elementBits() < layout.rowPitch() * 8;
  int64_t granule = std::max<int64_t>(1, (cutsRows ? tma.sharedAlignment : tma.innerBoxGranularity) * 8 /
                                             layout.elementBits());
  int64_t rows = cutsRows ? 1 : largestPart(layout.rows(), rowGranule);
  inner = largestPart(inner, granule);
  if (rows == 0 || inner == 0)
    return invalid(fmt::format("expected extents that boxes of at most {} elements divide, but got {}",
                               maxBoxExtent, printShape(layout.shape())));

  TmaBoxes boxes;
  boxes.swizzle = layout.swizzle();
  boxes.contiguousAxis = layout.contiguousAxis();
  boxes.box.assign(layout.shape().size(), 1);
  boxes.box[size_t(layout.contiguousAxis())] = inner;
  if (layout.rowAxis())
    boxes.box[size_t(*layout.rowAxis())] = rows;
  boxes.bytesPerPiece = inner * rows * layout.elementBits() / 8;
  // Adjacent planes that begin where the TMA may not write are boxes together.
  bool isAdjacent = boxes.bytesPerPiece == layout.panels() * layout.panelPitch() && layout.panels() == 1;
  for (int axis = layout.rank() - 3;
       axis >= 0 && isAdjacent && !isMultipleOf(boxes.bytesPerPiece, tma.sharedAlignment); --axis) {
    int64_t &extent = boxes.box[size_t(axis)];
    extent = largestPart(layout.shape()[size_t(axis)], 1);
    boxes.bytesPerPiece *= extent;
    isAdjacent = extent == layout.shape()[size_t(axis)];
  }

  Coordinates origin(layout.shape().size(), 0);
  for (;;) {
    boxes.pieces.push_back({origin, layout.linearOffset(origin)});
    if (!isMultipleOf(boxes.pieces.back().byteOffset, tma.sharedAlignment))
      return invalid(fmt::format("expected boxes that start at multiples of {} bytes because TMA writes no "
                                 "others, but {} has one at byte {}",
                                 tma.sharedAlignment, printShape(layout.shape()),
                                 boxes.pieces.back().byteOffset));
    int axis = layout.rank() - 1;
    for (; axis >= 0; --axis) {
      origin[size_t(axis)] += boxes.box[size_t(axis)];
      if (origin[size_t(axis)] < layout.shape()[size_t(axis)])
        break;
      origin[size_t(axis)] = 0;
    }
    if (axis < 0)
      return boxes;
  }
}
