// SPDX-License-Identifier: Apache-2.0
/// \file
/// Descriptors against a model of how the unit reads them, TMA boxes against the
/// elements' places.
#include "dialects/layout/SharedOperands.h"

#include "test/unit/layout/LayoutLaws.h"

using namespace tlc;
using namespace tlc::test;
using Catch::Contains;

namespace {

/// Where the unit looks for element (mn, k) of an instruction, from the manual's
/// canonical layouts: written from the descriptor's fields alone.
int64_t unitReads(const WgmmaOperand &operand, int64_t start, int64_t mn, int64_t k) {
  int64_t bytes = operand.layout.elementBits() / 8, span = swizzleSpan(operand.swizzle);
  int64_t row = operand.majorness == Majorness::k ? mn : k,
          column = (operand.majorness == Majorness::k ? k : mn) * bytes;
  int64_t rowGroup = operand.strideByteOffset, spanGroup = operand.leadingByteOffset;
  if (operand.majorness == Majorness::mn && operand.swizzle == Swizzle::none)
    std::swap(rowGroup, spanGroup);
  int64_t address = start + row / 8 * rowGroup + row % 8 * span + column % span;
  // A swizzled K-major instruction never leaves its span.
  if (operand.majorness == Majorness::mn || operand.swizzle == Swizzle::none)
    address += column / span * spanGroup;
  return applySwizzle(operand.swizzle, address);
}

void requireReadable(const SharedLayout &layout, int kAxis, int64_t mnPerInstruction) {
  Result<WgmmaOperand> result = wgmmaOperand(layout, kAxis);
  INFO(printSharedLayout(layout));
  REQUIRE(result);
  const WgmmaOperand &operand = *result;
  int64_t extent = layout.shape()[size_t(1 - kAxis)];
  bool same = true;
  for (int64_t mn = 0; mn < extent; mn += mnPerInstruction)
    for (int64_t step = 0; step < layout.shape()[size_t(kAxis)] / operand.kPerInstruction; ++step)
      for (int64_t i = 0; i < mnPerInstruction; ++i)
        for (int64_t k = 0; k < operand.kPerInstruction; ++k) {
          Coordinates at(2);
          at[size_t(kAxis)] = step * operand.kPerInstruction + k;
          at[size_t(1 - kAxis)] = mn + i;
          same &= unitReads(operand, operand.startOffset(mn, step), i, k) == layout.byteOffset(at);
        }
  REQUIRE(same);
}

std::string failure(const SharedLayout &layout, int kAxis) {
  Result<WgmmaOperand> operand = wgmmaOperand(layout, kAxis);
  REQUIRE_FALSE(operand);
  return operand.error().message;
}

} // namespace

TEST_CASE("the unit finds every element through the descriptor", "[layout][shared][wgmma][unit]") {
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128}) {
    requireReadable(SharedLayout::swizzled({128, 128}, 16, 1, swizzle), 1, 64);
    requireReadable(SharedLayout::swizzled({128, 128}, 16, 0, swizzle), 0, 64);
    requireReadable(SharedLayout::swizzled({128, 128}, 16, 1, swizzle), 0, 128);
    requireReadable(SharedLayout::swizzled({128, 128}, 16, 0, swizzle), 1, 64);
    requireReadable(SharedLayout::swizzled({64, 128}, 8, 1, swizzle), 1, 64);
    requireReadable(SharedLayout::swizzled({64, 64}, 32, 1, swizzle), 1, 64);
  }
  requireReadable(SharedLayout::preferred({176, 128}, 16, 1), 1, 176);
  requireReadable(SharedLayout::preferred({176, 128}, 16, 1), 0, 128);
  requireReadable(SharedLayout::preferred({64, 176}, 16, 1), 0, 176);
}

TEST_CASE("the known descriptors come out", "[layout][shared][wgmma][unit]") {
  WgmmaOperand k = *wgmmaOperand(SharedLayout::preferred({128, 128}, 16, 1), 1);
  REQUIRE(k.majorness == Majorness::k);
  REQUIRE(k.leadingByteOffset == 16);
  REQUIRE(k.strideByteOffset == 1024);
  REQUIRE(k.startOffset(0, 1) == 32);
  REQUIRE(k.startOffset(64, 0) == 8192);
  REQUIRE(k.startOffset(0, 4) == 16384); // the next panel

  WgmmaOperand mn = *wgmmaOperand(SharedLayout::preferred({96, 128}, 16, 1), 0);
  REQUIRE(mn.majorness == Majorness::mn);
  REQUIRE(mn.leadingByteOffset == 96 * 128);
  REQUIRE(mn.strideByteOffset == 1024);
  REQUIRE(mn.startOffset(0, 1) == 128 * 16);
  REQUIRE(mn.startOffset(64, 0) == 96 * 128);
}

TEST_CASE("warpgroups share operands where parts do not end within a panel",
          "[layout][shared][wgmma][unit]") {
  WgmmaOperand rows = *wgmmaOperand(SharedLayout::preferred({64, 96}, 16, 1), 0);
  REQUIRE(rows.layout.panelExtent() == 32);
  CHECK(rows.hasPartsOf(32));
  CHECK(rows.hasPartsOf(64));
  CHECK(rows.hasPartsOf(16)); // two share a panel
  CHECK_FALSE(rows.hasPartsOf(48));
  CHECK(wgmmaOperand(SharedLayout::preferred({96, 64}, 16, 1), 1)->hasPartsOf(48));
}

TEST_CASE("tcgen05 reads bytes along either axis, wgmma along k alone", "[layout][instruction][unit]") {
  const SharedLayout bytes = SharedLayout::preferred({64, 128}, 8, 1),
                     words = SharedLayout::preferred({64, 32}, 32, 1);
  WgmmaOperand operand = *wgmmaOperand(bytes, 0, tcgen05Reader);
  CHECK(operand.majorness == Majorness::mn);
  CHECK(operand.kPerInstruction == 32);
  CHECK(operand.startOffset(0, 1) == 32 * 128);
  CHECK_FALSE(wgmmaOperand(bytes, 0));
  CHECK_FALSE(wgmmaOperand(words, 0, tcgen05Reader));
}

TEST_CASE("what wgmma cannot read is refused with the way out", "[layout][shared][wgmma][unit]") {
  REQUIRE_THAT(failure(SharedLayout::plain({64, 64}, 16, 1), 1), Contains("expected panels of 8 elements"));
  REQUIRE_THAT(failure(SharedLayout::preferred({64, 128}, 8, 1), 0),
               Contains("8 bits only K-major") && Contains("store the tile transposed"));
  SharedLayout interleaved = *SharedLayout::preferred({64, 64}, 16, 1).withOrder(interleavedRows());
  REQUIRE_THAT(failure(interleaved, 0), Contains("expected elements in order because axis 1 is not reduced"));
  SharedLayout wide = *SharedLayout::preferred({64, 64}, 16, 1).withOrder({{2, 0, 16}, {16, 0, 1}});
  REQUIRE_THAT(failure(wide, 1),
               Contains("period divides 16 elements of 16 bits") && Contains("got a period of 32"));
  REQUIRE_THAT(failure(SharedLayout::plain({64, 8}, 16, 1, 16), 1),
               Contains("expected no row padding because wgmma"));
  REQUIRE_THAT(failure(SharedLayout::swizzled({64, 80}, 16, 1, Swizzle::bytes128), 1),
               Contains("multiple of 64 elements along axis 1") && Contains("got 80"));
  REQUIRE_THAT(failure(SharedLayout::swizzled({60, 64}, 16, 1, Swizzle::bytes128), 1),
               Contains("multiple of 8 along axis 0") && Contains("got 60"));
  REQUIRE_THAT(failure(SharedLayout::swizzled({24, 64}, 16, 1, Swizzle::bytes128), 0),
               Contains("multiple of 16 along the reduction axis 0") && Contains("got 24"));
  REQUIRE_THAT(failure(SharedLayout::preferred({64, 64}, 64, 1), 1),
               Contains("8, 16 or 32 bits") && Contains("got 64"));
  REQUIRE_THAT(failure(SharedLayout::preferred({64, 64}, 16, 1), 2),
               Contains("one of the last two of 2 axes, but got 2"));
  REQUIRE_THAT(failure(SharedLayout::preferred({4096, 128}, 16, 1), 0),
               Contains("expected panels at most 262128 bytes apart") && Contains("got 524288"));
}

TEST_CASE("TMA boxes tile the buffer", "[layout][shared][tma][unit]") {
  for (const SharedLayout &layout :
       {SharedLayout::preferred({128, 256}, 16, 1), SharedLayout::preferred({512, 64}, 16, 1),
        SharedLayout::preferred({64, 176}, 16, 1), SharedLayout::preferred({128, 64}, 16, 0),
        SharedLayout::plain({64, 8}, 16, 1), SharedLayout::plain({1024}, 32, 0),
        SharedLayout::swizzled({2, 40, 128}, 8, 2, Swizzle::bytes64), SharedLayout::plain({100}, 32, 0),
        SharedLayout::plain({4, 512}, 16, 1), *SharedLayout::plain({4, 512}, 16, 1).withShape({4, 64}),
        SharedLayout::plain({1, 1088}, 32, 1), SharedLayout::plain({3, 5, 8}, 16, 2),
        SharedLayout::plain({2, 3, 1, 8}, 32, 3)}) {
    INFO(printSharedLayout(layout));
    Result<TmaBoxes> boxes = tmaBoxes(layout);
    REQUIRE(boxes);
    // Within a piece, elements lie in the box's order under the swizzle, and the
    // pieces together hold every element once.
    int64_t bytes = layout.elementBits() / 8, covered = 0;
    bool same = true;
    for (const TmaPiece &piece : boxes->pieces) {
      REQUIRE(piece.byteOffset % 128 == 0);
      forEachPoint(boxes->box, [&](const Coordinates &inBox) {
        Coordinates at = inBox;
        for (size_t axis = 0; axis < at.size(); ++axis)
          at[axis] += piece.origin[axis];
        size_t inner = size_t(layout.contiguousAxis());
        int64_t row = layout.rowAxis() ? inBox[size_t(*layout.rowAxis())] : 0;
        int64_t plane = 0;
        for (size_t axis = 0; axis + 2 < at.size(); ++axis)
          plane = plane * boxes->box[axis] + inBox[axis];
        if (layout.rowAxis())
          row += plane * boxes->box[size_t(*layout.rowAxis())];
        int64_t place = piece.byteOffset + row * boxes->box[inner] * bytes + inBox[inner] * bytes;
        same &= applySwizzle(boxes->swizzle, place) == layout.byteOffset(at);
        ++covered;
      });
    }
    REQUIRE(same);
    int64_t elements = 1;
    for (int64_t extent : layout.shape())
      elements *= extent;
    REQUIRE(covered == elements);
    for (int64_t extent : boxes->box)
      REQUIRE(extent <= 256);
    REQUIRE(boxes->bytesPerPiece * int64_t(boxes->pieces.size()) == elements * bytes);
  }
}

TEST_CASE("what TMA cannot address is refused with the reason", "[layout][shared][tma][unit]") {
  auto message = [](const SharedLayout &layout) {
    Result<TmaBoxes> boxes = tmaBoxes(layout);
    REQUIRE_FALSE(boxes);
    return boxes.error().message;
  };
  REQUIRE_THAT(message(SharedLayout::plain({64, 64}, 16, 1, 16)),
               Contains("expected no row padding because TMA"));
  SharedLayout interleaved = *SharedLayout::preferred({64, 64}, 8, 1).withOrder(interleavedRows());
  REQUIRE_THAT(message(interleaved), Contains("expected elements in order because TMA moves whole rows"));
  REQUIRE_THAT(message(SharedLayout::plain({64, 9}, 16, 1)),
               Contains("multiple of 16 bytes") && Contains("9 elements of 16 bits"));
  REQUIRE_THAT(message(SharedLayout::plain({64, 264}, 16, 1)), Contains("divide, but got 64x264"));
  REQUIRE_THAT(message(SharedLayout::swizzled({64, 96}, 16, 1, Swizzle::bytes128)),
               Contains("full panels of 64") && Contains("extent of 96"));
  REQUIRE_THAT(message(SharedLayout::swizzled({257, 64}, 16, 1, Swizzle::bytes128)),
               Contains("divide, but got 257x64"));
  REQUIRE_THAT(message(SharedLayout::plain({300, 5, 8}, 16, 2)),
               Contains("multiples of 128 bytes") && Contains("at byte 12000"));
  REQUIRE_THAT(message(SharedLayout::plain({1, 1, 1, 1, 8, 8}, 16, 5)), Contains("at most 5 axes"));
}
