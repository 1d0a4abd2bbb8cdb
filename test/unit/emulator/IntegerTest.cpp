// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer and bit instructions, values worked out by hand from the PTX ISA.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator::test;

TEST_CASE("sums and differences wrap or saturate") {
  CHECK(compute("add.s32 %d, %a, %b;", 32, {b32(0x7FFFFFFF), b32(1)}) == 0x80000000);
  CHECK(compute("add.sat.s32 %d, %a, %b;", 32, {b32(0x7FFFFFFF), b32(1)}) == 0x7FFFFFFF);
  CHECK(compute("sub.s32 %d, %a, 5;", 32, {b32(3)}) == 0xFFFFFFFE);
  CHECK(compute("sub.sat.s32 %d, %a, %b;", 32, {b32(0x80000000), b32(1)}) == 0x80000000);
  CHECK(compute("add.u16 %d, %a, %b;", 16, {b16(0xFFFF), b16(2)}) == 1);
  CHECK(compute("add.s64 %d, %a, -1;", 64, {b64(0)}) == ~uint64_t(0));
  CHECK(compute("add.s16x2 %d, %a, %b;", 32, {b32(0xFFFF7FFF), b32(0x00010001)}) == 0x00008000);
  CHECK(compute("add.cc.u32 %r1, %a, %b; addc.u32 %d, %c, 0;", 32, {b32(0xFFFFFFFF), b32(1), b32(7)}) == 8);
  CHECK(compute("sub.cc.u32 %r1, %a, %b; subc.u32 %d, %c, 0;", 32, {b32(0), b32(1), b32(7)}) == 6);
}

TEST_CASE("a subtraction leaves and takes a carry, which means no borrow") {
  // Every value as an H200 computes it: a = 5, b = 3, c = 0xffffffff.
  const auto of = [](std::string text) { return compute(text, 32, {b32(5), b32(3), b32(0xFFFFFFFF)}); };
  CHECK(of("sub.cc.u32 %r1, %a, %b; addc.u32 %d, 0, 0;") == 1);
  CHECK(of("sub.cc.u32 %r1, %b, %a; addc.u32 %d, 0, 0;") == 0);
  CHECK(of("add.cc.u32 %r1, %c, %b; subc.u32 %d, %a, %b;") == 2);
  CHECK(of("add.cc.u32 %r1, %a, %b; subc.u32 %d, %a, %b;") == 1);
  CHECK(of("sub.cc.u32 %r1, %b, %a; subc.u32 %d, %a, %b;") == 1);
  CHECK(of("sub.cc.u32 %r1, %a, %b; subc.cc.u32 %r2, 0, 0; addc.u32 %d, 0, 0;") == 1);
  CHECK(of("sub.cc.u32 %r1, %b, %a; subc.cc.u32 %r2, 0, 0; addc.u32 %d, 0, 0;") == 0);
  CHECK(of("add.cc.u32 %r1, %c, %b; subc.cc.u32 %r2, %b, %b; addc.u32 %d, 0, 0;") == 1);
  CHECK(of("add.cc.u32 %r1, %a, %b; subc.cc.u32 %r2, %b, %b; addc.u32 %d, 0, 0;") == 0);
  CHECK(of("sub.cc.u32 %r1, %a, %b; madc.lo.u32 %d, %a, %b, 0;") == 16);
  CHECK(of("sub.cc.u32 %r1, %b, %a; madc.hi.u32 %d, %c, %c, 0;") == 0xFFFFFFFE);
  CHECK(of("mad.lo.cc.u32 %r1, %a, %b, %c; subc.u32 %d, %a, %b;") == 2);
  CHECK(of("mad.lo.cc.u32 %r1, %a, %b, 0; subc.u32 %d, %a, %b;") == 1);
  CHECK(of("mad.hi.cc.s32 %r1, %c, %c, %c; addc.u32 %d, 0, 0;") == 0);
  CHECK(of("mad.hi.cc.s32 %r1, %c, %b, %c; addc.u32 %d, 0, 0;") == 1);
  CHECK(of("cvt.u64.u32 %d1, %a; sub.cc.u64 %d2, %d1, 3; addc.u32 %d, 0, 0;") == 1);
  CHECK(of("cvt.u64.u32 %d1, %b; sub.cc.u64 %d2, %d1, 5; addc.u32 %d, 0, 0;") == 0);
}

TEST_CASE("products: low, high, wide, 24 bits, with an addend") {
  CHECK(compute("mul.lo.s32 %d, %a, %b;", 32, {b32(100000), b32(100000)}) == 0x540BE400);
  CHECK(compute("mul.hi.u32 %d, %a, %b;", 32, {b32(0x80000000), b32(6)}) == 3);
  CHECK(compute("mul.hi.s32 %d, %a, %b;", 32, {b32(0x80000000), b32(6)}) == 0xFFFFFFFD);
  CHECK(compute("mul.wide.s32 %d, %a, %b;", 64, {b32(0xFFFFFFFF), b32(5)}) == uint64_t(-5));
  CHECK(compute("mul.wide.u16 %d, %a, %b;", 32, {b16(0xFFFF), b16(0xFFFF)}) == 0xFFFE0001);
  CHECK(compute("mul.hi.u64 %d, %a, %b;", 64, {b64(uint64_t(1) << 63), b64(8)}) == 4);
  CHECK(compute("mul24.lo.u32 %d, %a, %b;", 32, {b32(0xFF000003), b32(4)}) == 12);
  CHECK(compute("mad.lo.s32 %d, %a, %b, %c;", 32, {b32(3), b32(4), b32(5)}) == 17);
  CHECK(compute("mad.hi.u32 %d, %a, %b, %c;", 32, {b32(0x80000000), b32(4), b32(1)}) == 3);
  CHECK(compute("mad.wide.u32 %d, %a, 4, %b;", 64, {b32(0xFFFFFFFF), b64(1)}) == 0x3FFFFFFFD);
  CHECK(compute("mad.lo.cc.u32 %r1, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;", 32,
                {b32(0x80000000), b32(3), b32(0x80000000)}) == 2);
  CHECK(compute("dp4a.s32.u32 %d, %a, %b, %c;", 32, {b32(0xFF020304), b32(0x01020304), b32(10)}) == 38);
}

TEST_CASE("dot products of bytes with halves, saturating products of 24 bits") {
  // 2 * 3 + -1 * 4 and 2 * 1 + -1 * 2 of the halves of a and the bytes of b.
  const Value a = b32(0xFFFF0002), b = b32(0x02010403);
  CHECK(compute("dp2a.lo.s32.s32 %d, %a, %b, %c;", 32, {a, b, b32(10)}) == 12);
  CHECK(compute("dp2a.hi.s32.s32 %d, %a, %b, %c;", 32, {a, b, b32(10)}) == 10);
  CHECK(compute("dp2a.lo.u32.u32 %d, %a, %b, %c;", 32, {a, b, b32(0)}) == 6 + 65535 * 4);
  CHECK(compute("dp2a.lo.s32.u32 %d, %a, %b, %c;", 32, {b32(0x0000FFFF), b32(0xFF), b32(0)}) ==
        uint32_t(-255));
  CHECK(compute("dp2a.lo.u32.s32 %d, %a, %b, %c;", 32, {b32(0x0000FFFF), b32(0xFF), b32(0)}) ==
        uint32_t(-65535));
  CHECK(compute("mad24.hi.sat.s32 %d, %a, %b, %c;", 32, {b32(0x7FFFFF), b32(0x7FFFFF), b32(0x7FFFFFFF)}) ==
        0x7FFFFFFF);
  CHECK(compute("mad24.hi.sat.s32 %d, %a, %b, %c;", 32, {b32(0x10000), b32(0x30000), b32(5)}) == 0x30005);
  CHECK(compute("mul24.hi.s32 %d, %a, %b;", 32, {b32(0xFFFFFF), b32(0x10000)}) == 0xFFFFFFFF);
}

TEST_CASE("quotients and remainders, by zero too") {
  CHECK(compute("div.s32 %d, %a, %b;", 32, {b32(uint32_t(-7)), b32(2)}) == uint32_t(-3));
  CHECK(compute("rem.s32 %d, %a, %b;", 32, {b32(uint32_t(-7)), b32(2)}) == uint32_t(-1));
  CHECK(compute("div.u32 %d, %a, %b;", 32, {b32(7), b32(0)}) == 0xFFFFFFFF);
  CHECK(compute("div.s32 %d, %a, %b;", 32, {b32(0x80000000), b32(0xFFFFFFFF)}) == 0x80000000);
  CHECK(compute("rem.u64 %d, %a, %b;", 64, {b64(1000000007), b64(1000)}) == 7);
}

TEST_CASE("min, max, abs, neg, sad") {
  CHECK(compute("min.s32 %d, %a, %b;", 32, {b32(0xFFFFFFFF), b32(1)}) == 0xFFFFFFFF);
  CHECK(compute("min.u32 %d, %a, %b;", 32, {b32(0xFFFFFFFF), b32(1)}) == 1);
  CHECK(compute("max.s16 %d, %a, %b;", 16, {b16(0x8000), b16(3)}) == 3);
  CHECK(compute("max.relu.s32 %d, %a, %b;", 32, {b32(uint32_t(-9)), b32(uint32_t(-3))}) == 0);
  CHECK(compute("max.u16x2 %d, %a, %b;", 32, {b32(0x00050009), b32(0x00070001)}) == 0x00070009);
  CHECK(compute("abs.s32 %d, %a;", 32, {b32(uint32_t(-12))}) == 12);
  CHECK(compute("neg.s64 %d, %a;", 64, {b64(12)}) == uint64_t(-12));
  CHECK(compute("sad.u32 %d, %a, %b, %c;", 32, {b32(3), b32(10), b32(1)}) == 8);
}

TEST_CASE("logic and shifts") {
  CHECK(compute("and.b32 %d, %a, %b;", 32, {b32(0xF0F0), b32(0xFF00)}) == 0xF000);
  CHECK(compute("or.b16 %d, %a, %b;", 16, {b16(0xF0), b16(0x0F)}) == 0xFF);
  CHECK(compute("xor.b64 %d, %a, %b;", 64, {b64(5), b64(3)}) == 6);
  CHECK(compute("not.b32 %d, %a;", 32, {b32(0)}) == 0xFFFFFFFF);
  CHECK(compute("cnot.b32 %d, %a;", 32, {b32(0)}) == 1);
  CHECK(compute("shl.b32 %d, %a, 32;", 32, {b32(1)}) == 0);
  CHECK(compute("shr.s32 %d, %a, 40;", 32, {b32(0x80000000)}) == 0xFFFFFFFF);
  CHECK(compute("shr.u32 %d, %a, 4;", 32, {b32(0x80000000)}) == 0x08000000);
  CHECK(compute("shf.l.wrap.b32 %d, %a, %b, 8;", 32, {b32(0xAABBCCDD), b32(0x11223344)}) == 0x223344AA);
  CHECK(compute("shf.r.clamp.b32 %d, %a, %b, 40;", 32, {b32(0xAABBCCDD), b32(0x11223344)}) == 0x11223344);
  CHECK(compute("lop3.b32 %d, %a, %b, %c, 0xE8;", 32, {b32(0b0011), b32(0b0101), b32(0b0110)}) == 0b0111);
}

TEST_CASE("bit fields and counts") {
  CHECK(compute("bfe.u32 %d, %a, 4, 8;", 32, {b32(0x12345678)}) == 0x67);
  CHECK(compute("bfe.s32 %d, %a, 4, 4;", 32, {b32(0x000000F0)}) == 0xFFFFFFFF);
  CHECK(compute("bfe.s32 %d, %a, 28, 8;", 32, {b32(0xF0000000)}) == 0xFFFFFFFF);
  CHECK(compute("bfi.b32 %d, %a, %b, 8, 4;", 32, {b32(0xF), b32(0x1000)}) == 0x1F00);
  CHECK(compute("popc.b32 %d, %a;", 32, {b32(0xF0F0)}) == 8);
  CHECK(compute("popc.b64 %d, %a;", 32, {b64(~uint64_t(0))}) == 64);
  CHECK(compute("clz.b32 %d, %a;", 32, {b32(0)}) == 32);
  CHECK(compute("clz.b64 %d, %a;", 32, {b64(1)}) == 63);
  CHECK(compute("brev.b32 %d, %a;", 32, {b32(1)}) == 0x80000000);
  CHECK(compute("bfind.u32 %d, %a;", 32, {b32(0x1000)}) == 12);
  CHECK(compute("bfind.s32 %d, %a;", 32, {b32(0xFFFFFFFF)}) == 0xFFFFFFFF);
  CHECK(compute("bfind.shiftamt.u32 %d, %a;", 32, {b32(0x1000)}) == 19);
  CHECK(compute("bmsk.clamp.b32 %d, %a, %b;", 32, {b32(4), b32(8)}) == 0xFF0);
  CHECK(compute("fns.b32 %d, %a, 0, 2;", 32, {b32(0b10110)}) == 2);
}

TEST_CASE("szext takes the low bits with or without their sign") {
  CHECK(compute("szext.clamp.s32 %d, %a, %b;", 32, {b32(0x1F8), b32(4)}) == 0xFFFFFFF8);
  CHECK(compute("szext.clamp.u32 %d, %a, %b;", 32, {b32(0x1F8), b32(4)}) == 8);
  CHECK(compute("szext.clamp.s32 %d, %a, %b;", 32, {b32(0x80000001), b32(40)}) == 0x80000001);
  CHECK(compute("szext.wrap.s32 %d, %a, %b;", 32, {b32(0xFF), b32(33)}) == 0xFFFFFFFF);
  CHECK(compute("szext.wrap.u32 %d, %a, %b;", 32, {b32(0xFF), b32(32)}) == 0);
  CHECK(compute("szext.clamp.u32 %d, %a, %b;", 32, {b32(0xFF), b32(0)}) == 0);
}

TEST_CASE("lop3 with a predicate") {
  // 0xC0: a and b.
  const std::string_view text = "setp.ne.b32 %p1, %c, 0; lop3.or.b32 %r1|%d, %a, %b, 0, 0xC0, %p1;";
  CHECK(compute(text, 1, {b32(6), b32(1), b32(0)}) == 0);
  CHECK(compute(text, 1, {b32(6), b32(2), b32(0)}) == 1);
  CHECK(compute(text, 1, {b32(6), b32(1), b32(1)}) == 1);
  CHECK(compute("setp.ne.b32 %p1, %c, 0; lop3.and.b32 _|%d, %a, %b, 0, 0xC0, !%p1;", 1,
                {b32(6), b32(2), b32(0)}) == 1);
  CHECK(compute("setp.ne.b32 %p1, %b, 0; lop3.and.b32 %d|%p2, %a, %b, 0, 0xC0, %p1;", 32, {b32(6), b32(3)}) ==
        2);
}

TEST_CASE("prmt in all its modes") {
  const Value a = b32(0x44332211), b = b32(0x88776655);
  CHECK(compute("prmt.b32 %d, %a, %b, 0x7531;", 32, {a, b}) == 0x88664422);
  CHECK(compute("prmt.b32 %d, %a, %b, 0x0008;", 32, {b32(0x80), b}) == 0x808080FF);
  CHECK(compute("prmt.b32.f4e %d, %a, %b, 1;", 32, {a, b}) == 0x55443322);
  CHECK(compute("prmt.b32.b4e %d, %a, %b, 1;", 32, {a, b}) == 0x77881122);
  CHECK(compute("prmt.b32.rc8 %d, %a, %b, 2;", 32, {a, b}) == 0x33333333);
  CHECK(compute("prmt.b32.ecl %d, %a, %b, 2;", 32, {a, b}) == 0x44333333);
  CHECK(compute("prmt.b32.ecr %d, %a, %b, 1;", 32, {a, b}) == 0x22222211);
  CHECK(compute("prmt.b32.rc16 %d, %a, %b, 1;", 32, {a, b}) == 0x44334433);
}
