// SPDX-License-Identifier: Apache-2.0
/// \file
/// Offsets, sizes and text of shared-memory placements.
#include "dialects/layout/SharedLayout.h"

#include "dialects/layout/LayoutText.h"
#include "dialects/layout/TextCursor.h"
#include "runtime/support/Math.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <numeric>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

constexpr int64_t maxSharedBytes = int64_t(1) << 40; ///< keeps the arithmetic exact

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

int64_t tlc::orderPeriod(ElementOrder order) { return order == ElementOrder::natural ? 1 : 16; }

int64_t tlc::placeInOrder(ElementOrder order, int64_t element) {
  if (order == ElementOrder::natural)
    return element;
  int64_t pair = element >> 1 & 3, half = element >> 3 & 1;
  return (element & ~int64_t(14)) | pair << 2 | half << 1;
}

SharedLayout SharedLayout::plain(Shape shape, int elementBits, int contiguousAxis, int64_t rowPadding) {
  int64_t extent = shape[size_t(contiguousAxis)];
  return {std::move(shape), elementBits, contiguousAxis,       extent,
          Swizzle::none,    rowPadding,  ElementOrder::natural};
}

SharedLayout SharedLayout::swizzled(Shape shape, int elementBits, int contiguousAxis, Swizzle swizzle) {
  return {std::move(shape), elementBits, contiguousAxis,       swizzleSpan(swizzle) * 8 / elementBits,
          swizzle,          0,           ElementOrder::natural};
}

SharedLayout SharedLayout::preferred(Shape shape, int elementBits, int contiguousAxis) {
  int64_t bits = shape[size_t(contiguousAxis)] * elementBits;
  for (Swizzle swizzle : {Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32})
    if (shape.size() >= 2 && isMultipleOf(bits, swizzleSpan(swizzle) * 8))
      return swizzled(std::move(shape), elementBits, contiguousAxis, swizzle);
  return plain(std::move(shape), elementBits, contiguousAxis);
}

Result<void> SharedLayout::check() const {
  if (shape.empty())
    return invalid("expected a tile of rank 1 or more in shared memory, but got rank 0");
  if (elementBits < 1 || elementBits > 128 || !isPowerOf2(elementBits))
    return invalid(
        fmt::format("expected element bits that are a power of two up to 128, but got {}", elementBits));
  if (contiguousAxis < std::max(0, rank() - 2) || contiguousAxis >= rank())
    return invalid(fmt::format("expected one of the last two of {} axes to be contiguous, but got axis {}",
                               rank(), contiguousAxis));
  int64_t elements = 1;
  for (int64_t extent : shape) {
    if (extent < 1 || extent > maxSharedBytes / elements)
      return invalid(fmt::format("expected positive extents of at most 2^40 elements in all, but got {}",
                                 printShape(shape)));
    elements *= extent;
  }
  if (panelExtent < 1 || panelExtent > maxSharedBytes)
    return invalid(fmt::format("expected a positive panel extent, but got {}", panelExtent));
  if (rowPadding < 0 || rowPadding > 4096)
    return invalid(fmt::format("expected a row padding of 0 to 4096 bytes, but got {}", rowPadding));
  if (int64_t period = orderPeriod(order);
      !isMultipleOf(panelExtent, period) || !isMultipleOf(shape[size_t(contiguousAxis)], period))
    return invalid(
        fmt::format("expected panels and rows of a multiple of {} elements because the order begins "
                    "anew after so many, but got {} and {}",
                    period, panelExtent, shape[size_t(contiguousAxis)]));
  if (swizzle != Swizzle::none) {
    if (rowPadding != 0)
      return invalid(
          fmt::format("expected no row padding with a {}-byte swizzle because the swizzle permutes "
                      "whole spans, but got {} bytes",
                      toString(swizzle), rowPadding));
    if (panelExtent * elementBits != swizzleSpan(swizzle) * 8)
      return invalid(
          fmt::format("expected panels of {} elements because the swizzle spans {} bytes, but got {}",
                      swizzleSpan(swizzle) * 8 / elementBits, swizzleSpan(swizzle), panelExtent));
    if (rank() < 2)
      return invalid("expected rank 2 or more with a swizzle because it permutes by row, but got rank 1");
  } else if (panels() > 1 && !isMultipleOf(panelExtent * elementBits, 8)) {
    return invalid(fmt::format("expected panels of whole bytes, but got {} elements of {} bits", panelExtent,
                               elementBits));
  }
  return {};
}

std::optional<int> SharedLayout::rowAxis() const {
  if (rank() < 2)
    return std::nullopt;
  return contiguousAxis == rank() - 1 ? rank() - 2 : rank() - 1;
}

int64_t SharedLayout::rows() const { return rowAxis() ? shape[size_t(*rowAxis())] : 1; }
int64_t SharedLayout::panels() const { return ceilDiv(shape[size_t(contiguousAxis)], panelExtent); }
int64_t SharedLayout::rowPitch() const { return ceilDiv(panelExtent * elementBits, 8) + rowPadding; }
int64_t SharedLayout::panelPitch() const {
  // Every panel starts where the swizzle pattern does, whatever the number of rows.
  return alignTo(rows() * rowPitch(), swizzle == Swizzle::none ? 1 : alignment());
}
int64_t SharedLayout::planePitch() const { return panels() * panelPitch(); }

int64_t SharedLayout::totalBytes() const {
  int64_t planes = 1;
  for (int axis = 0; axis < rank() - 2; ++axis)
    planes *= shape[size_t(axis)];
  return planes * planePitch();
}

int64_t SharedLayout::alignment() const {
  return swizzle == Swizzle::none ? int64_t(TmaFacts().sharedAlignment) : swizzleSpan(swizzle) * swizzleRows;
}

int64_t SharedLayout::linearOffset(const Coordinates &coordinates) const {
  int64_t column = placeInOrder(order, coordinates[size_t(contiguousAxis)]);
  int64_t plane = 0;
  for (int axis = 0; axis < rank() - 2; ++axis)
    plane = plane * shape[size_t(axis)] + coordinates[size_t(axis)];
  int64_t row = rowAxis() ? coordinates[size_t(*rowAxis())] : 0;
  return plane * planePitch() + column / panelExtent * panelPitch() + row * rowPitch() +
         column % panelExtent * elementBits / 8;
}

int64_t SharedLayout::byteOffset(const Coordinates &coordinates) const {
  return applySwizzle(swizzle, linearOffset(coordinates));
}

int64_t SharedLayout::contiguousElements() const {
  if (order == ElementOrder::interleaved)
    return 2;
  int64_t run = panels() == 1 ? shape[size_t(contiguousAxis)] : panelExtent;
  if (rows() == 1 && swizzle == Swizzle::none)
    return run;
  // Rows start at multiples of the pitch, swizzled chunks of 16 bytes stay whole.
  int64_t bytes = swizzle == Swizzle::none ? powerOf2Factor(rowPitch()) : swizzleChunkBytes;
  return std::gcd(run, std::max<int64_t>(1, bytes * 8 / elementBits));
}

std::string tlc::printSharedLayout(const SharedLayout &layout) {
  return fmt::format("{} {}b axis {} panel {} swizzle {} pad {}{}", printShape(layout.shape),
                     layout.elementBits, layout.contiguousAxis, layout.panelExtent, toString(layout.swizzle),
                     layout.rowPadding, layout.order == ElementOrder::interleaved ? " interleaved" : "");
}

Result<SharedLayout> tlc::parseSharedLayout(std::string_view text) {
  TextCursor cursor(text);
  SharedLayout layout;
  int64_t number = 0;
  do {
    if (!cursor.number(number) || layout.shape.size() == 16)
      return cursor.expected("an extent");
    layout.shape.push_back(number);
  } while (cursor.take('x'));
  if (!cursor.number(number) || number > 128 || !cursor.take('b'))
    return cursor.expected("element bits such as '16b'");
  layout.elementBits = int(number);
  if (!cursor.word("axis") || !cursor.number(number) || number > 16)
    return cursor.expected("'axis' and a number");
  layout.contiguousAxis = int(number);
  if (!cursor.word("panel") || !cursor.number(layout.panelExtent))
    return cursor.expected("'panel' and a number");
  if (!cursor.word("swizzle"))
    return cursor.expected("'swizzle'");
  std::optional<Swizzle> swizzle = parseSwizzle(cursor.identifier());
  if (!swizzle)
    return cursor.expected("'none', '32', '64' or '128' before this point");
  layout.swizzle = *swizzle;
  if (!cursor.word("pad") || !cursor.number(layout.rowPadding))
    return cursor.expected("'pad' and a number of bytes");
  if (cursor.word("interleaved"))
    layout.order = ElementOrder::interleaved;
  if (!cursor.atEnd())
    return cursor.expected("the end");
  if (Result<void> ok = layout.check(); !ok)
    return ok.error();
  return layout;
}
