// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the elements of a tile lie in shared memory.
///
/// # Tutorial
///
/// One axis of the tile, `contiguousAxis`, runs along consecutive bytes. It is cut
/// into *panels* of `panelExtent` elements; all rows of the first panel lie first,
/// then all rows of the second. Rows are the other axis of the last two (the axes
/// before them are outermost, in row-major order: stages of a ring, for example).
///
/// Plain row-major is the case of one panel as wide as the tile. A bf16 tile of
/// 128x256 for wgmma and TMA has four panels of 64 elements (128 bytes, one swizzle
/// span) side by side:
///
///     columns     0..63      64..127    128..191   192..255
///     bytes       0..16383   16384..    32768..    49152..65535
///
/// Element (3, 70) is in panel 1 at row 3, byte 12 of the row: 16384 + 3*128 + 12.
///
/// ## Swizzle
///
/// A column of that tile would lie in one bank. The swizzle permutes the 16-byte
/// chunks of a span by the row: with span 128, bits 4-6 of the offset are xored with
/// bits 7-9; with 64, bits 4-5 with bits 7-8; with 32, bit 4 with bit 7. So (3, 70),
/// in chunk 0 of row 3, lies in chunk 0^3 = 3: byte 16384 + 3*128 + 48 + 12.
/// The permutation repeats every 8 spans of 128 bytes, so a tile must start at a
/// multiple of `alignment()`: 1024, 512 or 256 bytes.
///
/// ## Padding
///
/// Without a swizzle a row may be followed by `rowPadding` bytes, which spreads
/// columns over the banks for code that indexes elements; TMA and wgmma cannot
/// address such a tile.
///
/// ## Order
///
/// Elements of a row follow one another as they are counted, or `interleaved`: of each
/// 16, pairs of the first and the second half alternate,
///
///     0 1  8 9  2 3  10 11  4 5  12 13  6 7  14 15
///
/// A thread has columns of an accumulator in pairs, 8 apart; an 8-bit operand in
/// registers wants four consecutive ones. A product may sum in any order that both
/// factors share, so that a right factor of 8-bit elements in this order meets an
/// accumulator converted in place (`wgmmaOperandA` in StockLayouts.h).
///
/// ## What each reader needs
///
/// - TMA: the box's inner extent is one panel, so a panel is at most the swizzle span.
/// - wgmma: K-major if the reduction axis is contiguous, MN-major otherwise; panels
///   as wide as the swizzle span, or 16 bytes without swizzle (core matrices).
/// - ldmatrix/stmatrix: 16-byte rows, conflict-free if 8 rows hit 8 different chunks.
/// SharedOperands.h derives all three from the layout.
#pragma once

#include "dialects/layout/Layout.h"
#include "runtime/support/Swizzle.h"

namespace tlc {

/// Bytes along the contiguous axis that the swizzle permutes; 16 for `none`.
int64_t swizzleSpan(Swizzle swizzle);
/// Applies the swizzle to a byte offset from an aligned start; its own inverse.
int64_t applySwizzle(Swizzle swizzle, int64_t byteOffset);
const char *toString(Swizzle swizzle);
/// The inverse of toString: "none", "32", "64", "128".
std::optional<Swizzle> parseSwizzle(std::string_view text);

/// How the elements of a row follow one another in memory.
enum class ElementOrder : uint8_t {
  natural,
  interleaved, ///< pairs of the halves of each 16 alternate
};
/// The place of an element of a row in that order.
int64_t placeInOrder(ElementOrder order, int64_t element);
/// The elements after which the order begins anew.
int64_t orderPeriod(ElementOrder order);

struct SharedLayout {
  Shape shape;
  int elementBits = 16;
  int contiguousAxis = 0;
  int64_t panelExtent = 1; ///< elements along the contiguous axis per panel
  Swizzle swizzle = Swizzle::none;
  int64_t rowPadding = 0; ///< bytes after each row of a panel
  ElementOrder order = ElementOrder::natural;

  /// Row-major (contiguousAxis = last) or column-major, one panel.
  static SharedLayout plain(Shape shape, int elementBits, int contiguousAxis, int64_t rowPadding = 0);
  /// Panels as wide as the span of `swizzle` (16-byte core matrices for `none`).
  static SharedLayout swizzled(Shape shape, int elementBits, int contiguousAxis, Swizzle swizzle);
  /// The widest swizzle whose panels the contiguous extent fills: what TMA and wgmma
  /// like best. Plain where rows are not a multiple of 16 bytes.
  static SharedLayout preferred(Shape shape, int elementBits, int contiguousAxis);

  /// A located message if the fields contradict each other.
  Result<void> check() const;

  int rank() const { return int(shape.size()); }
  /// The axis that counts rows, or nothing for rank 1.
  std::optional<int> rowAxis() const;
  int64_t rows() const;
  int64_t panels() const;
  int64_t rowPitch() const;   ///< bytes from row to row inside a panel
  int64_t panelPitch() const; ///< bytes from panel to panel
  int64_t planePitch() const; ///< bytes per plane of the last two axes
  int64_t totalBytes() const;
  int64_t alignment() const; ///< of the tile's first byte

  /// Byte offset before the swizzle: linear in row, panel and column.
  int64_t linearOffset(const Coordinates &coordinates) const;
  /// Byte offset of the element (of its first byte; elements narrower than a byte
  /// share it).
  int64_t byteOffset(const Coordinates &coordinates) const;
  /// Number of elements along the contiguous axis that stay together, and aligned,
  /// under the swizzle and panels: the widest vector of a thread's access.
  int64_t contiguousElements() const;

  bool operator==(const SharedLayout &) const = default;
};

/// Text form, exact inverses: `128x64 16b axis 1 panel 64 swizzle 128 pad 0`, with
/// `interleaved` at the end where the order is that.
std::string printSharedLayout(const SharedLayout &layout);
Result<SharedLayout> parseSharedLayout(std::string_view text);

} // namespace tlc
