// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the asynchronous units are told about a tile in shared memory: wgmma's
/// matrix descriptor and TMA's boxes, both derived from its SharedLayout.
#pragma once

#include "dialects/layout/SharedLayout.h"

#include <string_view>

namespace tlc {

enum class Majorness {
  k,  ///< the reduction axis is contiguous
  mn, ///< the other axis is contiguous (the instruction's transpose flag)
};

/// A tile in shared memory as an operand of wgmma. A descriptor is
///
///     (address >> 4 & 0x3fff) | leading >> 4 << 16 | stride >> 4 << 32 | code << 62
///
/// What the two offsets mean depends on the case ("atom" = 8 rows of one span):
///
///     K-major, swizzled    leading: not used (1)          stride: from 8 rows to the next 8
///     K-major, none        leading: from 16 bytes of k    stride: from 8 rows to the next 8
///                          to the next 16
///     MN-major, swizzled   leading: panel to panel        stride: from 8 rows of k to the next 8
///     MN-major, none       leading: from 8 rows of k      stride: panel to panel
///                          to the next 8
struct WgmmaOperand {
  Majorness majorness = Majorness::k;
  Swizzle swizzle = Swizzle::bytes128;
  int64_t leadingByteOffset = 0;
  int64_t strideByteOffset = 0;
  int64_t kPerInstruction = 16; ///< 32 bytes of the element type; 64 of what a sparse A is multiplied by

  /// Byte offset from the tile's start of the instruction's operand whose first
  /// element is (mn, kStep * kPerInstruction). `mn` is a multiple of 64 or, along n,
  /// of 8 (K-major) or of a panel (MN-major).
  int64_t startOffset(int64_t mn, int64_t kStep) const;
  /// Whether parts of so many elements along the axis that is not reduced are operands by themselves: of
  /// panels along it, parts are whole panels or share one.
  bool hasPartsOf(int64_t elements) const;

  SharedLayout layout;
  int kAxis = 1;
};

/// An instruction that reads factors from shared memory.
struct FactorReader {
  std::string_view name = "wgmma";
  int64_t depthBytes = matrixDepthBytes; ///< of a row, that it reduces
  bool transposesBytes = false;          ///< reads elements of 8 bits MN-major, too
};
inline constexpr FactorReader tcgen05Reader = {"tcgen05.mma", matrixDepthBytes, true};

/// `kAxis` is the reduction axis of the tile (the last two axes count; those before
/// must have extent 1 or be sliced away by the caller). Fails, saying why and what would do, where the
/// instruction cannot read the layout.
Result<WgmmaOperand> wgmmaOperand(const SharedLayout &layout, int kAxis, const FactorReader &reader = {});

/// One TMA instruction's share of a tile.
struct TmaPiece {
  Coordinates origin; ///< first element, in tile coordinates
  int64_t byteOffset = 0;
};

/// How TMA fills or stores the tile: one tensor map (`box`, `swizzle`) and the
/// pieces that each take one instruction.
struct TmaBoxes {
  Shape box; ///< extents per tile axis, in tile order
  Swizzle swizzle = Swizzle::none;
  int contiguousAxis = 0;
  std::vector<TmaPiece> pieces;
  int64_t bytesPerPiece = 0;
};

/// Fails, saying why, where TMA cannot address the layout: padded rows, rows that
/// are not multiples of 16 bytes, panels wider than the swizzle span.
Result<TmaBoxes> tmaBoxes(const SharedLayout &layout);

} // namespace tlc
