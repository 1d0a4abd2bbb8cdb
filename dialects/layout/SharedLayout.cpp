// SPDX-License-Identifier: Apache-2.0
/// \file
/// Offsets, sizes and text of shared-memory placements.
#include "dialects/layout/SharedLayout.h"

#include "dialects/layout/AccumulatorOrder.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/TextCursor.h"
#include "runtime/support/Math.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <iterator>
#include <numeric>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

constexpr int64_t maxSharedBytes = int64_t(1) << 40; ///< keeps the arithmetic exact

constexpr int64_t maxPeriod = 1024; ///< of the order of a row

/// Bytes after which the swizzle's pattern repeats; 1 without one.
int64_t alignmentOf(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 1 : swizzleSpan(swizzle) * swizzleRows;
}

} // namespace

int64_t tlc::swizzleSpan(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::none:
    return 16;
  case Swizzle::bytes32:
    return 32;
  case Swizzle::bytes64:
    return 64;
  case Swizzle::bytes128:
    return 128;
  }
  return 16;
}

int64_t tlc::applySwizzle(Swizzle swizzle, int64_t byteOffset) {
  // As many bits, from bit 7 up, as chunks of 16 bytes fit in the span.
  int64_t chunkMask = swizzleSpan(swizzle) / swizzleChunkBytes - 1;
  return byteOffset ^ ((byteOffset >> 7 & chunkMask) << 4);
}

const char *tlc::toString(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::none:
    return "none";
  case Swizzle::bytes32:
    return "32";
  case Swizzle::bytes64:
    return "64";
  case Swizzle::bytes128:
    return "128";
  }
  return "";
}

std::optional<Swizzle> tlc::parseSwizzle(std::string_view text) {
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
    if (text == toString(swizzle))
      return swizzle;
  return std::nullopt;
}

RowOrder tlc::interleavedRows() { return {{2, 0, 1}, {4, 0, 4}, {2, 0, 2}}; }

RowOrder tlc::accumulatorOrder() {
  RowOrder order;
  for (const AccumulatorAxis *axis : {&accumulatorColumns, &accumulatorRows})
    order.insert(order.end(), axis->digits.begin(), axis->digits.end());
  return order;
}

LayoutMap tlc::mapOf(const RowOrder &order, Dim dim, int64_t elements) {
  Modes modes = order;
  modes.push_back({ceilDiv(elements, periodOf(order)), 0, periodOf(order)});
  return LayoutMap({{dim, std::move(modes)}}, {dim});
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

namespace {
Result<void> checkElements(const Shape &shape, int elementBits) {
  if (shape.empty())
    return invalid("expected a tile of rank 1 or more in shared memory, but got rank 0");
  if (elementBits < 1 || elementBits > 128 || !isPowerOf2(elementBits))
    return invalid(
        fmt::format("expected element bits that are a power of two up to 128, but got {}", elementBits));
  int64_t elements = 1;
  for (int64_t extent : shape) {
    if (extent < 1 || extent > maxSharedBytes / elements)
      return invalid(fmt::format("expected positive extents of at most 2^40 elements in all, but got {}",
                                 printShape(shape)));
    elements *= extent;
  }
  return {};
}

Result<void> checkOrder(const RowOrder &order, int64_t panelExtent, int64_t row) {
  for (const LayoutMode &mode : order)
    if (!isPowerOf2(mode.extent) || !isPowerOf2(mode.step) || mode.extent > maxPeriod ||
        mode.step > maxPeriod)
      return invalid(fmt::format("expected powers of two up to {} in the order of rows, but got {}:{}",
                                 maxPeriod, mode.extent, mode.step));
  LayoutMap places({{Dim::axis0, order}}, {Dim::axis0});
  if (!places.problem().empty() || places.size(0) != periodOf(order))
    return invalid("expected an order of rows in which each element has a place of its own");
  if (int64_t period = periodOf(order); !isMultipleOf(panelExtent, period) || !isMultipleOf(row, period))
    return invalid(
        fmt::format("expected panels and rows of a multiple of {} elements because the order begins "
                    "anew after so many, but got {} and {}",
                    period, panelExtent, row));
  return {};
}

Result<void> checkPieces(const Shape &shape, int elementBits, const RowPlacement &rows) {
  size_t rank = shape.size();
  constexpr int64_t pieceRows = accumulatorRows.extent, pieceColumns = accumulatorColumns.extent;
  if (elementBits < 8 || rank < 2 || rows.contiguousAxis != int(rank) - 1 || rows.swizzle != Swizzle::none ||
      rows.rowPadding != 0)
    return invalid("expected rows and columns of whole bytes without a swizzle and padding in the order of "
                   "accumulators");
  if (shape[rank - 2] % pieceRows != 0 || shape[rank - 1] % pieceColumns != 0)
    return invalid(
        fmt::format("expected multiples of {} rows and {} columns in the order of accumulators, but "
                    "got {}",
                    pieceRows, pieceColumns, printShape(shape)));
  return {};
}

/// The digits of an axis of a tile in pieces, the next one of which is so many bits away.
Modes pieceModes(const AccumulatorAxis &axis, int64_t extent, int64_t bits, int64_t nextPiece) {
  Modes modes;
  for (const LayoutMode &digit : axis.digits)
    modes.push_back({digit.extent, 0, digit.step * bits});
  modes.push_back({extent / axis.extent, 0, nextPiece});
  return modes;
}

Result<void> checkRows(const Shape &shape, int elementBits, const RowPlacement &rows) {
  int rank = int(shape.size());
  if (rows.contiguousAxis < std::max(0, rank - 2) || rows.contiguousAxis >= rank)
    return invalid(fmt::format("expected one of the last two of {} axes to be contiguous, but got axis {}",
                               rank, rows.contiguousAxis));
  int64_t extent = shape[size_t(rows.contiguousAxis)];
  if (rows.panelExtent < 1 || rows.panelExtent > maxSharedBytes)
    return invalid(fmt::format("expected a positive panel extent, but got {}", rows.panelExtent));
  if (rows.rowPadding < 0 || rows.rowPadding > 4096)
    return invalid(fmt::format("expected a row padding of 0 to 4096 bytes, but got {}", rows.rowPadding));
  if (rows.order == accumulatorOrder())
    return checkPieces(shape, elementBits, rows);
  if (Result<void> ok = checkOrder(rows.order, rows.panelExtent, extent); !ok)
    return ok;
  if (rows.swizzle == Swizzle::none) {
    if (extent > rows.panelExtent && !isMultipleOf(rows.panelExtent * elementBits, 8))
      return invalid(fmt::format("expected panels of whole bytes, but got {} elements of {} bits",
                                 rows.panelExtent, elementBits));
    return {};
  }
  int64_t span = swizzleSpan(rows.swizzle);
  if (rows.rowPadding != 0)
    return invalid(fmt::format("expected no row padding with a {}-byte swizzle because the swizzle permutes "
                               "whole spans, but got {} bytes",
                               toString(rows.swizzle), rows.rowPadding));
  if (rows.panelExtent * elementBits != span * 8)
    return invalid(
        fmt::format("expected panels of {} elements because the swizzle spans {} bytes, but got {}",
                    span * 8 / elementBits, span, rows.panelExtent));
  if (rank < 2)
    return invalid("expected rank 2 or more with a swizzle because it permutes by row, but got rank 1");
  return {};
}

/// So many rows, `pitch` bits apart; a swizzle flips chunks by the row's place among those of its pattern.
Modes rowModes(int64_t rows, int64_t pitch, Swizzle swizzle) {
  if (swizzle == Swizzle::none)
    return {{rows, 0, pitch}};
  // Rows whose spans fill the widest one are permuted alike.
  int64_t chunks = swizzleSpan(swizzle) / swizzleChunkBytes, alike = swizzleRows / chunks;
  return {{alike, 0, pitch},
          {chunks, 0, pitch * alike, swizzleChunkBytes * 8},
          {ceilDiv(rows, swizzleRows), 0, pitch * swizzleRows}};
}
} // namespace

Result<SharedLayout> SharedLayout::create(Shape shape, int elementBits, RowPlacement rows) {
  if (Result<void> ok = checkElements(shape, elementBits); !ok)
    return ok.error();
  if (Result<void> ok = checkRows(shape, elementBits, rows); !ok)
    return ok.error();
  SharedLayout layout;
  layout.extents = std::move(shape);
  layout.bits = elementBits;
  layout.fastAxis = rows.contiguousAxis;
  int64_t extent = layout.extents[size_t(layout.fastAxis)];
  bool isInPieces = rows.order == accumulatorOrder();
  if (isInPieces || (layout.rows() == 1 && rows.swizzle == Swizzle::none)) {
    rows.panelExtent = extent;
    rows.rowPadding = 0;
  }

  // What lies after the last element, to the end of panels and of the swizzle's pattern, counts, too.
  double bytes = double(rows.panelExtent) * elementBits / 8 + double(rows.rowPadding) + 1;
  bytes = (bytes * double(layout.rows()) + double(alignmentOf(rows.swizzle))) *
          double(ceilDiv(extent, rows.panelExtent));
  for (int axis = 0; axis < layout.rank() - 2; ++axis)
    bytes *= double(layout.extents[size_t(axis)]);
  if (bytes > double(maxSharedBytes))
    return invalid(
        fmt::format("expected a tile of at most {} bytes, but panels of {} elements with {} rows take "
                    "about {:.3g}",
                    maxSharedBytes, rows.panelExtent, layout.rows(), bytes));

  int64_t rowBits = (ceilDiv(rows.panelExtent * elementBits, 8) + rows.rowPadding) * 8;
  // Every panel starts where the swizzle pattern does, whatever the number of rows.
  int64_t panelBits = alignTo(layout.rows() * rowBits, alignmentOf(rows.swizzle) * 8);
  int64_t panels = ceilDiv(extent, rows.panelExtent);
  Modes panel, ofRows;
  if (isInPieces) {
    int64_t nextPiece = accumulatorRows.extent * accumulatorColumns.extent * elementBits;
    panel = pieceModes(accumulatorColumns, extent, elementBits, nextPiece);
    ofRows = pieceModes(accumulatorRows, layout.rows(), elementBits, accumulatorRows.extent * rowBits);
  } else {
    for (LayoutMode mode : rows.order)
      panel.push_back({mode.extent, 0, mode.step * elementBits});
    int64_t period = periodOf(rows.order);
    panel.push_back({rows.panelExtent / period, 0, period * elementBits});
    panel.push_back({panels, 0, panelBits});
    ofRows = rowModes(layout.rows(), rowBits, rows.swizzle);
  }

  std::vector<LayoutMap::Input> inputs;
  for (int axis = 0; axis < layout.rank(); ++axis)
    inputs.push_back({axisDim(axis), {}});
  inputs[size_t(layout.fastAxis)].modes = std::move(panel);
  if (std::optional<int> rowAxis = layout.rowAxis())
    inputs[size_t(*rowAxis)].modes = std::move(ofRows);
  int64_t plane = panels * panelBits;
  for (int axis = layout.rank() - 3; axis >= 0; --axis) {
    int64_t extent = layout.extents[size_t(axis)];
    inputs[size_t(axis)].modes = {{extent, 0, plane}};
    plane *= extent;
  }
  layout.digits = LayoutMap(std::move(inputs), {Dim::bit});
  assert(layout.digits.problem().empty() && "rows, panels and planes do not overlap");
  return layout;
}

namespace {
SharedLayout createCorrect(Shape shape, int elementBits, const RowPlacement &rows) {
  Result<SharedLayout> layout = SharedLayout::create(std::move(shape), elementBits, rows);
  assert(layout && "rows that are correct by construction");
  return *layout;
}
} // namespace

SharedLayout SharedLayout::plain(Shape shape, int elementBits, int contiguousAxis, int64_t rowPadding) {
  int64_t extent = shape[size_t(contiguousAxis)];
  return createCorrect(std::move(shape), elementBits, {contiguousAxis, extent, Swizzle::none, rowPadding});
}

SharedLayout SharedLayout::swizzled(Shape shape, int elementBits, int contiguousAxis, Swizzle swizzle) {
  return createCorrect(std::move(shape), elementBits,
                       {contiguousAxis, swizzleSpan(swizzle) * 8 / elementBits, swizzle});
}

namespace {
/// Whether a swizzle, which repeats after 8 rows, would leave room unused: for fewer rows that fit boxes of
/// the TMA as they are.
bool isBestPlain(const Shape &shape, int elementBits, int contiguousAxis) {
  constexpr TmaFacts tma;
  size_t rank = shape.size(), rowAxis = size_t(contiguousAxis) + 1 == rank ? rank - 2 : rank - 1;
  int64_t extent = shape[size_t(contiguousAxis)];
  return rank >= 2 && shape[rowAxis] < swizzleRows &&
         (extent <= int64_t(tma.maxBoxExtent) ||
          isMultipleOf(extent * elementBits, int64_t(tma.sharedAlignment) * 8));
}
} // namespace

SharedLayout SharedLayout::preferred(Shape shape, int elementBits, int contiguousAxis) {
  int64_t bits = shape[size_t(contiguousAxis)] * elementBits;
  if (isBestPlain(shape, elementBits, contiguousAxis))
    return plain(std::move(shape), elementBits, contiguousAxis);
  for (Swizzle swizzle : {Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32})
    if (shape.size() >= 2 && isMultipleOf(bits, swizzleSpan(swizzle) * 8))
      return swizzled(std::move(shape), elementBits, contiguousAxis, swizzle);
  return plain(std::move(shape), elementBits, contiguousAxis);
}

Result<SharedLayout> SharedLayout::withOrder(const RowOrder &order) const {
  RowPlacement rows = rowPlacement();
  rows.order = order;
  return create(extents, bits, rows);
}

Result<SharedLayout> SharedLayout::withShape(Shape shape) const {
  Result<SharedLayout> layout = create(std::move(shape), bits, rowPlacement());
  if (layout && layout->panels() < panels() && layout->extents[size_t(fastAxis)] == extents[size_t(fastAxis)])
    return invalid(
        fmt::format("expected two rows or more because the row has {} panels of {} elements, which "
                    "lie apart, but got one",
                    panels(), panelExtent()));
  return layout;
}

//===----------------------------------------------------------------------===//
// What the digits say
//===----------------------------------------------------------------------===//

std::optional<int> SharedLayout::rowAxis() const {
  if (rank() < 2)
    return std::nullopt;
  return fastAxis == rank() - 1 ? rank() - 2 : rank() - 1;
}

int64_t SharedLayout::rows() const { return rowAxis() ? extents[size_t(*rowAxis())] : 1; }
int64_t SharedLayout::panels() const { return ceilDiv(extents[size_t(fastAxis)], panelExtent()); }

bool SharedLayout::isInPieces() const {
  if (rank() < 2 || fastAxis != rank() - 1 || extents[size_t(rank()) - 2] < accumulatorRows.extent)
    return false;
  // In no other layout do rows 8 apart lie closer to one another than neighbours.
  const Modes &ofRows = digits.modes(size_t(rank()) - 2), &ofColumns = digits.modes(size_t(fastAxis));
  return ofRows.size() >= 2 && ofColumns.size() >= 2 &&
         ofRows[0] ==
             LayoutMode{accumulatorRows.digits[0].extent, 0, accumulatorRows.digits[0].step * bits} &&
         ofRows[1] == LayoutMode{accumulatorRows.digits[1].extent, 0, accumulatorRows.digits[1].step * bits};
}

Modes SharedLayout::panelModes() const {
  const Modes &modes = digits.modes(size_t(fastAxis));
  std::optional<int> rows = rowAxis();
  if (!rows || digits.modes(size_t(*rows)).empty())
    return modes;
  int64_t rowStep = digits.modes(size_t(*rows)).front().step;
  Modes panel;
  std::copy_if(modes.begin(), modes.end(), std::back_inserter(panel),
               [&](const LayoutMode &mode) { return mode.step < rowStep; });
  return panel;
}

int64_t SharedLayout::panelExtent() const {
  return isInPieces() ? extents[size_t(fastAxis)] : numIndices(panelModes());
}

Swizzle SharedLayout::swizzle() const {
  if (std::optional<int> rows = rowAxis())
    for (const LayoutMode &mode : digits.modes(size_t(*rows)))
      for (Swizzle swizzle : {Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
        if (mode.flip * mode.extent == swizzleSpan(swizzle) * 8)
          return swizzle;
  return Swizzle::none;
}

RowOrder SharedLayout::rowOrder() const {
  if (isInPieces())
    return accumulatorOrder();
  Modes modes = panelModes();
  int64_t period = 1;
  for (LayoutMode &mode : modes) {
    mode.step /= bits;
    period *= mode.extent;
  }
  if (!modes.empty() && modes.back().end() == period)
    modes.pop_back();
  return modes;
}

int64_t SharedLayout::rowPitch() const {
  std::optional<int> rows = rowAxis();
  if (rows && !digits.modes(size_t(*rows)).empty() && !isInPieces())
    return digits.modes(size_t(*rows)).front().step / 8;
  return ceilDiv(panelExtent() * bits, 8);
}

int64_t SharedLayout::rowPadding() const { return rowPitch() - ceilDiv(panelExtent() * bits, 8); }

RowPlacement SharedLayout::rowPlacement() const {
  return {fastAxis, panelExtent(), swizzle(), rowPadding(), rowOrder()};
}

int64_t SharedLayout::panelPitch() const { return alignTo(rows() * rowPitch(), alignmentOf(swizzle())); }
int64_t SharedLayout::totalBytes() const {
  // A tile of one element has no digits.
  return ceilDiv(std::max<int64_t>(digits.size(0), bits), 8);
}

int64_t SharedLayout::alignment() const {
  return swizzle() == Swizzle::none ? int64_t(TmaFacts().sharedAlignment) : alignmentOf(swizzle());
}

int64_t SharedLayout::linearOffset(const Coordinates &coordinates) const {
  int64_t sum = 0;
  digits.addSums(coordinates, {&sum, 1});
  return sum / 8;
}

int64_t SharedLayout::byteOffset(const Coordinates &coordinates) const {
  return digits(coordinates).front() / 8;
}

int64_t SharedLayout::contiguousElements() const {
  if (isInPieces())
    return accumulatorColumns.digits[0].extent;
  Modes panel = panelModes();
  int64_t run = 1;
  if (!panel.empty() && panel.front().step == bits)
    run = std::min(panel.front().extent, extents[size_t(fastAxis)]);
  if (rows() == 1 && swizzle() == Swizzle::none)
    return run;
  // Rows start at multiples of the pitch, swizzled chunks of 16 bytes stay whole.
  int64_t bytes = swizzle() == Swizzle::none ? powerOf2Factor(rowPitch()) : swizzleChunkBytes;
  return std::gcd(run, std::max<int64_t>(1, bytes * 8 / bits));
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
std::string printOrder(const RowOrder &order) {
  if (order.empty())
    return "";
  if (order == interleavedRows())
    return " interleaved";
  if (order == accumulatorOrder())
    return " accumulator";
  std::vector<std::string> digits;
  for (const LayoutMode &mode : order)
    digits.push_back(fmt::format("{}:{}", mode.extent, mode.step));
  return fmt::format(" order({})", fmt::join(digits, ", "));
}

/// What is left of a text: nothing, for the natural order, or another one.
Result<RowOrder> parseOrder(TextCursor &cursor) {
  RowOrder order;
  if (cursor.word("interleaved"))
    order = interleavedRows();
  else if (cursor.word("accumulator"))
    order = accumulatorOrder();
  else if (cursor.word("order")) {
    if (!cursor.take('('))
      return cursor.expected("'('");
    do {
      LayoutMode mode{1, 0, 0};
      if (!cursor.number(mode.extent) || !cursor.take(':') || !cursor.number(mode.step))
        return cursor.expected("an extent, ':' and a step");
      order.push_back(mode);
    } while (cursor.take(','));
    if (!cursor.take(')'))
      return cursor.expected("',' or ')'");
  }
  if (!cursor.atEnd())
    return cursor.expected("the end");
  return order;
}
} // namespace

std::string tlc::printSharedLayout(const SharedLayout &layout) {
  RowPlacement rows = layout.rowPlacement();
  return fmt::format("{} {}b axis {} panel {} swizzle {} pad {}{}", printShape(layout.shape()),
                     layout.elementBits(), rows.contiguousAxis, rows.panelExtent, toString(rows.swizzle),
                     rows.rowPadding, printOrder(rows.order));
}

Result<SharedLayout> tlc::parseSharedLayout(std::string_view text) {
  TextCursor cursor(text);
  Shape shape;
  RowPlacement rows;
  int64_t number = 0;
  do {
    if (!cursor.number(number) || shape.size() == 16)
      return cursor.expected("an extent");
    shape.push_back(number);
  } while (cursor.take('x'));
  if (!cursor.number(number) || number > 128 || !cursor.take('b'))
    return cursor.expected("element bits such as '16b'");
  int elementBits = int(number);
  if (!cursor.word("axis") || !cursor.number(number) || number > 16)
    return cursor.expected("'axis' and a number");
  rows.contiguousAxis = int(number);
  if (!cursor.word("panel") || !cursor.number(rows.panelExtent))
    return cursor.expected("'panel' and a number");
  if (!cursor.word("swizzle"))
    return cursor.expected("'swizzle'");
  std::optional<Swizzle> swizzle = parseSwizzle(cursor.identifier());
  if (!swizzle)
    return cursor.expected("'none', '32', '64' or '128' before this point");
  rows.swizzle = *swizzle;
  if (!cursor.word("pad") || !cursor.number(rows.rowPadding))
    return cursor.expected("'pad' and a number of bytes");
  Result<RowOrder> order = parseOrder(cursor);
  if (!order)
    return order.error();
  rows.order = *order;
  return SharedLayout::create(std::move(shape), elementBits, rows);
}
