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
/// Elements of a row follow one another as they are counted, or in a `RowOrder`.
/// `interleavedRows()` is one: of each 16, pairs of the first and the second half alternate,
///
///     0 1  8 9  2 3  10 11  4 5  12 13  6 7  14 15
///
/// A thread has columns of an accumulator in pairs, 8 apart; an 8-bit operand in
/// registers wants four consecutive ones. A product may sum in any order that both
/// factors share, so that a right factor of 8-bit elements in this order meets an
/// accumulator converted in place (`wgmmaOperandA` in StockLayouts.h).
///
/// `accumulatorOrder()` is one of rows and columns: pieces of 16 x 8 elements follow one another along each
/// 16 rows, as AccumulatorOrder.h says of tensors. A tile of whole rows lies as in such a tensor, in adjacent
/// bytes, and what warps have of an accumulator they write in vectors of four, without bank conflicts.
///
/// ## Digits
///
/// All of these are properties of one map (LayoutMap.h) from the tile's axes to a
/// bit's offset. The bf16 tile above, and a row of 32 bytes in interleaved order:
///
///     axis 0(8@bit:1024 ^ 128, 16@bit:8192) axis 1(64@bit:16, 4@bit:131072)
///     axis 0(2@bit:8, 4@bit:32, 2@bit:16, 2@bit:128)
///
/// and a tile of 32 x 16 of f32 in the order of accumulators:
///
///     axis 0(8@bit:512, 2@bit:64, 2@bit:8192) axis 1(2@bit:32, 4@bit:128, 2@bit:4096)
///
/// What readers ask (swizzle, panels, padding, order) is read off the digits.
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

/// In which order the elements of a row follow one another in memory: digits that take an element of a row to
/// its place, over and over after as many elements as they count, all powers of two. Canonical: no digits in
/// the natural order.
using RowOrder = Modes;
/// Pairs of the halves of each 16 alternate.
RowOrder interleavedRows();
/// Of accumulators: the digits of a column, then those of a row, of a piece. The only order of several rows.
RowOrder accumulatorOrder();
/// The elements after which the order begins anew.
inline int64_t periodOf(const RowOrder &order) { return numIndices(order); }
/// The order as a map from `dim` to itself, of so many elements, a multiple of the period.
LayoutMap mapOf(const RowOrder &order, Dim dim, int64_t elements);

/// How the rows of a tile lie, as `SharedLayout::create` takes it and the text form says it.
struct RowPlacement {
  int contiguousAxis = 0;
  int64_t panelExtent = 1; ///< elements along the contiguous axis per panel
  Swizzle swizzle = Swizzle::none;
  int64_t rowPadding = 0; ///< bytes after each row of a panel
  RowOrder order = {};
};

class SharedLayout {
public:
  /// Of no tile: to be assigned to.
  SharedLayout() = default;
  /// A message that names the field where these contradict each other. A single row has no panels and no
  /// padding, whatever `rows` says.
  static Result<SharedLayout> create(Shape shape, int elementBits, RowPlacement rows);

  // The following are for tiles for which `create` succeeds.
  /// Row-major (contiguousAxis = last) or column-major, one panel.
  static SharedLayout plain(Shape shape, int elementBits, int contiguousAxis, int64_t rowPadding = 0);
  /// Panels as wide as the span of `swizzle` (16-byte core matrices for `none`).
  static SharedLayout swizzled(Shape shape, int elementBits, int contiguousAxis, Swizzle swizzle);
  /// The widest swizzle whose panels the contiguous extent fills: what TMA and wgmma
  /// like best. Plain where rows are not a multiple of 16 bytes, and for fewer than 8 rows, which a swizzle
  /// would pad to 8, if the TMA can address them.
  static SharedLayout preferred(Shape shape, int elementBits, int contiguousAxis);

  /// The same with elements of a row in another order.
  Result<SharedLayout> withOrder(const RowOrder &order) const;
  /// The layout of some of the tile's rows and planes. An error for one row whose panels lie apart.
  Result<SharedLayout> withShape(Shape shape) const;

  /// From the tile's axes to the offset of an element's first bit.
  const LayoutMap &map() const { return digits; }
  const Shape &shape() const { return extents; }
  int rank() const { return int(extents.size()); }
  int elementBits() const { return bits; }
  int contiguousAxis() const { return fastAxis; }
  /// The axis that counts rows, or nothing for rank 1.
  std::optional<int> rowAxis() const;

  // Read off the digits.
  RowPlacement rowPlacement() const;
  int64_t panelExtent() const;
  Swizzle swizzle() const;
  int64_t rowPadding() const;
  RowOrder rowOrder() const;
  bool hasNaturalOrder() const { return rowOrder().empty(); }
  /// Whether it is in the order of accumulators: it has one panel then, and rows that do not lie apart.
  bool isInPieces() const;
  int64_t rows() const;
  int64_t panels() const;
  int64_t rowPitch() const;   ///< bytes from row to row inside a panel
  int64_t panelPitch() const; ///< bytes from panel to panel
  int64_t totalBytes() const;
  int64_t alignment() const; ///< of the tile's first byte

  /// Byte offset before the swizzle: the sum of the digits' steps. Linear in rows, panels and places of a
  /// panel.
  int64_t linearOffset(const Coordinates &coordinates) const;
  /// Byte offset of the element (of its first byte; elements narrower than a byte
  /// share it).
  int64_t byteOffset(const Coordinates &coordinates) const;
  /// Number of elements along the contiguous axis that stay together, and aligned,
  /// under the swizzle and panels: the widest vector of a thread's access.
  int64_t contiguousElements() const;

  bool operator==(const SharedLayout &) const = default;

private:
  /// Digits along the contiguous axis that stay in a panel.
  Modes panelModes() const;

  Shape extents;
  int bits = 8;
  int fastAxis = 0; ///< digits of a tile of one row or column do not say it
  LayoutMap digits;
};

/// Text form, exact inverses: `128x64 16b axis 1 panel 64 swizzle 128 pad 0`, with the order of rows at the
/// end where it is not the natural one: `interleaved`, `accumulator`, or its digits, as `order(2:2, 2:1)`.
std::string printSharedLayout(const SharedLayout &layout);
Result<SharedLayout> parseSharedLayout(std::string_view text);

} // namespace tlc
