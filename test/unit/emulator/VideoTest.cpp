// SPDX-License-Identifier: Apache-2.0
/// \file
/// Video instructions, values worked out by hand from the PTX ISA.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// a = 0x80FF7F01, b = 0x01020304, c as given.
uint64_t video(std::string_view text, uint32_t c = 0) {
  return compute(text, 32, {b32(0x80FF7F01), b32(0x01020304), b32(c)});
}

} // namespace

TEST_CASE("video instructions on one value select bytes and halves") {
  CHECK(video("vadd.s32.s32.s32 %d, %a.b0, %b.b1;") == 4);
  CHECK(video("vadd.s32.s32.s32 %d, %a.b2, %b.b3;") == 0);
  CHECK(video("vadd.u32.u32.u32 %d, %a.b2, %b.b3;") == 0x100);
  CHECK(video("vadd.s32.s32.u32 %d, %a.h1, %b.h0;") == 0xFFFF8403);
  CHECK(video("vsub.s32.u32.u32 %d, %b.b0, %a.b0;") == 3);
  CHECK(video("vsub.u32.u32.u32.sat %d, %a.b0, %b.b0;") == 0);
  CHECK(video("vsub.s32.s32.s32 %d, %a.b3, %b.b0;") == uint32_t(-132));
  CHECK(video("vabsdiff.s32.s32.s32 %d, %a.b3, %b.b0;") == 132);
  CHECK(video("vmin.s32.s32.u32 %d, %a.b2, %b.b0;") == 0xFFFFFFFF);
  CHECK(video("vmax.u32.u32.u32 %d, %a.b2, %b.b0;") == 0xFF);
  CHECK(video("vadd.s32.s32.s32.sat %d, %a, %a;") == 0x80000000);
}

TEST_CASE("video instructions have a second operation, or merge into a third operand") {
  CHECK(video("vadd.s32.s32.s32.add %d, %a.b0, %b.b1, %c;", 100) == 104);
  CHECK(video("vabsdiff.u32.u32.u32.max %d, %a.b0, %b.b1, %c;", 1) == 2);
  CHECK(video("vmin.s32.s32.s32.min %d, %a.b0, %b.b1, %c;", uint32_t(-8)) == uint32_t(-8));
  CHECK(video("vadd.s32.s32.s32.sat %d.b1, %a.b1, %b.b0, %c;", 0x11111111) == 0x11117F11);
  CHECK(video("vadd.s32.s32.s32 %d.h1, %a.b1, %b.b0, %c;", 0x11111111) == 0x00831111);
}

TEST_CASE("video shifts, comparisons, products") {
  CHECK(video("vshl.u32.u32.u32.wrap %d, %a.b0, %b.b0;") == 16);
  CHECK(video("vshl.u32.u32.u32.clamp %d, %a.b0, 40;") == 0);
  CHECK(video("vshl.u32.u32.u32.wrap %d, %a.b0, 33;") == 2);
  CHECK(video("vshr.s32.s32.u32.clamp %d, %a, 60;") == 0xFFFFFFFF);
  CHECK(video("vshr.u32.u32.u32.wrap.add %d, %a.h1, %b.b0, %c;", 1) == 0x810);
  CHECK(video("vset.s32.s32.lt %d, %a.b3, %b.b0;") == 1);
  CHECK(video("vset.u32.u32.lt %d, %a.b3, %b.b0;") == 0);
  CHECK(video("vset.s32.s32.ne.add %d, %a.b0, %b.b0, %c;", 6) == 7);
  CHECK(video("vmad.s32.s32.s32 %d, %a.b3, %b.b0, %c;", 2) == uint32_t(-510));
  CHECK(video("vmad.u32.u32.u32.shr7 %d, %a.b3, %b.b0, %c;", 0) == 4);
  CHECK(video("vmad.s32.s32.s32 %d, -%a.b0, %b.b0, %c;", 2) == uint32_t(-2));
  CHECK(video("vmad.s32.s32.s32 %d, %a.b0, %b.b0, -%c;", 2) == 2);
  CHECK(video("vmad.u32.u32.u32.po %d, %a.b0, %b.b0, %c;", 2) == 7);
  CHECK(video("vmad.u32.u32.u32.sat %d, %a, %a, %c;", 0) == 0xFFFFFFFF);
}

TEST_CASE("video instructions on two halves") {
  CHECK(video("vadd2.s32.s32.s32 %d, %a, %b, %c;") == 0x82018205);
  CHECK(video("vadd2.s32.s32.s32.sat %d, %a, %b, %c;") == 0x82017FFF);
  CHECK(video("vadd2.u32.u32.u32.add %d, %a, %b, %c;", 1) == 1 + 0x8201 + 0x8205);
  CHECK(video("vsub2.s32.s32.s32 %d.h1, %a, %b, %c;", 0x5555) == 0x7FFD5555);
  CHECK(video("vavrg2.u32.u32.u32 %d, %a, %b, %c;") == 0x41014103);
  CHECK(video("vabsdiff2.u32.u32.u32 %d, %a, %b, %c;") == 0x7FFD7BFD);
  CHECK(video("vmin2.s32.s32.s32 %d, %a, %b, %c;") == 0x80FF0304);
  // Halves of {b, a}: 0 is a's low one, 3 b's high one.
  CHECK(video("vmax2.u32.u32.u32 %d, %a.h30, %b.h01, %c;") == 0x7F0180FF);
  CHECK(video("vset2.s32.s32.lt %d, %a, %b, %c;") == 0x00010000);
  CHECK(video("vset2.u32.u32.gt.add %d, %a, %b, %c;", 5) == 7);
}

TEST_CASE("video instructions on four bytes") {
  CHECK(video("vadd4.u32.u32.u32 %d, %a, %b, %c;") == 0x81018205);
  CHECK(video("vadd4.u32.u32.u32.sat %d, %a, %b, %c;") == 0x81FF8205);
  CHECK(video("vadd4.s32.s32.s32.sat %d, %a, %b, %c;") == 0x81017F05);
  CHECK(video("vsub4.u32.u32.u32.sat %d, %a, %b, %c;") == 0x7FFD7C00);
  CHECK(video("vavrg4.s32.s32.s32 %d, %a, %b, %c;") == 0xC0014103);
  CHECK(video("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;") == 0x7F + 0xFD + 0x7C + 3);
  CHECK(video("vmin4.s32.s32.s32 %d, %a, %b, %c;") == 0x80FF0301);
  CHECK(video("vmax4.s32.s32.s32 %d.b20, %a, %b, %c;", 0x11111111) == 0x11021104);
  CHECK(video("vset4.u32.u32.ge %d, %a, %b, %c;") == 0x01010100);
  // Bytes of {b, a}: 4 is b's lowest.
  CHECK(video("vadd4.u32.u32.u32 %d, %a.b4000, %b.b4444, %c;") == 0x08050505);
  CHECK_THAT(failure({.body = "vadd4.u32.u32.u32 %r0, %r1.b89, %r2, %r3;"}),
             Contains("has no selection '.b89'"));
  CHECK_THAT(failure({.body = "add.u32 %r0, %r1.b0, %r2;"}),
             Contains("takes neither parts of registers nor a minus"));
}
