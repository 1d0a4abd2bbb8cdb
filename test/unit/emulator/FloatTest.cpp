// SPDX-License-Identifier: Apache-2.0
/// \file
/// Floating-point arithmetic, comparisons and conversions.
#include "test/unit/emulator/Harness.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc::emulator::test;

namespace {

const float infinity = INFINITY, notANumber = NAN;
float asFloat(uint64_t value) { return std::bit_cast<float>(uint32_t(value)); }
double asDouble(uint64_t value) { return std::bit_cast<double>(value); }

} // namespace

TEST_CASE("f32 arithmetic rounds as asked") {
  CHECK(asFloat(compute("add.f32 %d, %a, %b;", 32, {f32(1.5f), f32(2.25f)})) == 3.75f);
  CHECK(asFloat(compute("sub.rn.f32 %d, %a, 0f3F800000;", 32, {f32(1.5f)})) == 0.5f);
  CHECK(asFloat(compute("add.rz.f32 %d, %a, %b;", 32, {f32(1), f32(0x1.8p-24f)})) == 1);
  CHECK(asFloat(compute("add.rn.f32 %d, %a, %b;", 32, {f32(1), f32(0x1.8p-24f)})) == 1 + 0x1p-23f);
  CHECK(asFloat(compute("add.rp.f32 %d, %a, %b;", 32, {f32(1), f32(0x1p-30f)})) == 1 + 0x1p-23f);
  CHECK(asFloat(compute("add.rm.f32 %d, %a, %b;", 32, {f32(-1), f32(-0x1p-30f)})) == -1 - 0x1p-23f);
  CHECK(asFloat(compute("fma.rn.f32 %d, %a, %b, %c;", 32,
                        {f32(1 + 0x1p-12f), f32(1 + 0x1p-12f), f32(-1 - 0x1p-11f)})) == 0x1p-24f);
  CHECK(asFloat(compute("mul.ftz.f32 %d, %a, %b;", 32, {f32(0x1p-100f), f32(0x1p-30f)})) == 0);
  CHECK(asFloat(compute("mul.f32 %d, %a, %b;", 32, {f32(0x1p-100f), f32(0x1p-30f)})) == 0x1p-130f);
  CHECK(asFloat(compute("add.sat.f32 %d, %a, %b;", 32, {f32(0.75f), f32(0.5f)})) == 1);
  CHECK(compute("add.f32 %d, %a, %b;", 32, {f32(infinity), f32(-infinity)}) == 0x7FFFFFFF);
  CHECK(asFloat(compute("div.rn.f32 %d, %a, %b;", 32, {f32(1), f32(3)})) == 1.0f / 3.0f);
  CHECK(asFloat(compute("div.full.f32 %d, %a, %b;", 32, {f32(6), f32(3)})) == 2);
  CHECK(asFloat(compute("rcp.rn.f32 %d, %a;", 32, {f32(4)})) == 0.25f);
  CHECK(asFloat(compute("sqrt.rn.f32 %d, %a;", 32, {f32(9)})) == 3);
  CHECK(asFloat(compute("rsqrt.approx.ftz.f32 %d, %a;", 32, {f32(16)})) == 0.25f);
  CHECK(asFloat(compute("ex2.approx.ftz.f32 %d, %a;", 32, {f32(-3)})) == 0.125f);
  CHECK(asFloat(compute("lg2.approx.f32 %d, %a;", 32, {f32(8)})) == 3);
  CHECK(asFloat(compute("sin.approx.f32 %d, %a;", 32, {f32(0.5f)})) == Approx(std::sin(0.5)));
  CHECK(asFloat(compute("cos.approx.f32 %d, %a;", 32, {f32(0.5f)})) == Approx(std::cos(0.5)));
  CHECK(asFloat(compute("tanh.approx.f32 %d, %a;", 32, {f32(0.5f)})) == Approx(std::tanh(0.5)));
  CHECK(asFloat(compute("copysign.f32 %d, %a, %b;", 32, {f32(-1), f32(3)})) == -3);
}

TEST_CASE("min and max: zeros, NaNs, relu, xorsign") {
  CHECK(asFloat(compute("max.f32 %d, %a, %b;", 32, {f32(notANumber), f32(2)})) == 2);
  CHECK(asFloat(compute("min.f32 %d, %a, %b;", 32, {f32(2), f32(notANumber)})) == 2);
  CHECK(compute("max.NaN.f32 %d, %a, %b;", 32, {f32(notANumber), f32(2)}) == 0x7FFFFFFF);
  CHECK(compute("max.f32 %d, %a, %b;", 32, {f32(-0.0f), f32(0.0f)}) == 0);
  CHECK(compute("min.f32 %d, %a, %b;", 32, {f32(0.0f), f32(-0.0f)}) == 0x80000000);
  CHECK(compute("max.f32 %d, %a, %b;", 32, {f32(-0.0f), f32(-0.0f)}) == 0x80000000);
  CHECK(compute("min.f32 %d, %a, %b;", 32, {f32(notANumber), f32(notANumber)}) == 0x7FFFFFFF);
  CHECK(asFloat(compute("max.f32 %d, %a, %b;", 32, {f32(-infinity), f32(-3)})) == -3);
  CHECK(asFloat(compute("max.xorsign.abs.f32 %d, %a, %b;", 32, {f32(-5), f32(3)})) == -5);
  CHECK(asFloat(compute("min.xorsign.abs.f32 %d, %a, %b;", 32, {f32(-5), f32(-3)})) == 3);
  CHECK(compute("max.bf16x2 %d, %a, %b;", 32, {b32(0x3F80C000), b32(0x40003F80)}) == 0x40003F80);
  CHECK(compute("max.NaN.f16x2 %d, %a, %b;", 32, {b32(0x7E003C00), b32(0x00004000)}) == 0x7FFF4000);
}

TEST_CASE("f64 arithmetic") {
  CHECK(asDouble(compute("add.f64 %d, %a, 0d3FF8000000000000;", 64, {f64(1)})) == 2.5);
  CHECK(asDouble(compute("fma.rn.f64 %d, %a, %b, %c;", 64, {f64(2), f64(3), f64(4)})) == 10);
  CHECK(asDouble(compute("div.rp.f64 %d, %a, %b;", 64, {f64(2), f64(3)})) == std::nextafter(2.0 / 3.0, 1.0));
  CHECK(asDouble(compute("div.rz.f64 %d, %a, %b;", 64, {f64(2), f64(3)})) == 2.0 / 3.0);
  CHECK(asDouble(compute("sqrt.rn.f64 %d, %a;", 64, {f64(2)})) == std::sqrt(2.0));
  CHECK(asDouble(compute("neg.f64 %d, %a;", 64, {f64(2)})) == -2);
}

TEST_CASE("halves are rounded once") {
  CHECK(compute("add.f16 %d, %a, %b;", 16, {b16(0x3C00), b16(0x3800)}) == 0x3E00);
  CHECK(compute("fma.rn.f16 %d, %a, %b, %c;", 16, {b16(0x3C01), b16(0x3C01), b16(0xBC00)}) == 0x1800);
  CHECK(compute("fma.rn.f16 %d, %a, %b, %c;", 16, {b16(0x3C01), b16(0x3C03), b16(0xBC00)}) == 0x1C01);
  CHECK(compute("mul.bf16 %d, %a, %b;", 16, {b16(0x4000), b16(0x4040)}) == 0x40C0);
  CHECK(compute("add.rn.bf16x2 %d, %a, %b;", 32, {b32(0x3F804000), b32(0x3F803F80)}) == 0x40004040);
  CHECK(compute("fma.rn.relu.f16x2 %d, %a, %b, %c;", 32, {b32(0x3C003C00), b32(0xBC003C00), b32(0)}) ==
        0x00003C00);
  CHECK(compute("neg.f16x2 %d, %a;", 32, {b32(0x3C00BC00)}) == 0xBC003C00);
  CHECK(compute("abs.bf16 %d, %a;", 16, {b16(0xBF80)}) == 0x3F80);
  CHECK(compute("ex2.approx.ftz.bf16x2 %d, %a;", 32, {b32(0x40000000)}) == 0x40803F80);
  CHECK(compute("tanh.approx.f16 %d, %a;", 16, {b16(0)}) == 0);
}

TEST_CASE("sums of mixed precision, three sources, packed pairs: sm_100") {
  CHECK(asFloat(compute("add.f32.f16 %d, %a, %b;", 32, {b16(0x3C00), f32(0x1p-20f)}, "sm_100a")) ==
        1 + 0x1p-20f);
  CHECK(asFloat(compute("sub.rz.f32.bf16 %d, %a, %b;", 32, {b16(0x3F80), f32(0x1p-30f)}, "sm_100a")) ==
        1 - 0x1p-24f);
  CHECK(asFloat(compute("fma.rn.sat.f32.bf16 %d, %a, %b, %c;", 32, {b16(0x4000), b16(0x4000), f32(-3.5f)},
                        "sm_100a")) == 0.5f);
  CHECK(asFloat(compute("fma.rp.f32.f16 %d, %a, %b, %c;", 32, {b16(0x3C01), b16(0x3C01), f32(0)},
                        "sm_100a")) == 1 + 0x1p-9f + 0x1p-20f);
  CHECK(asFloat(compute("min.f32 %d, %a, %b, %c;", 32, {f32(3), f32(-4), f32(2)}, "sm_100a")) == -4);
  CHECK(asFloat(compute("min.abs.f32 %d, %a, %b, %c;", 32, {f32(3), f32(-4), f32(-2)}, "sm_100a")) == 2);
  CHECK(asFloat(compute("max.f32 %d, %a, %b, %c;", 32, {f32(3), f32(notANumber), f32(5)}, "sm_100a")) == 5);
  CHECK(compute("max.NaN.f32 %d, %a, %b, %c;", 32, {f32(3), f32(notANumber), f32(5)}, "sm_100a") ==
        0x7FFFFFFF);
  CHECK(compute("add.rn.f32x2 %d, %a, %b;", 64, {b64(0x3F80000040000000), b64(0x3F8000003F800000)},
                "sm_100a") == 0x4000000040400000);
  CHECK(compute("fma.rz.ftz.f32x2 %d, %a, %a, %b;", 64, {b64(0x4000000000000001), b64(0x3F80000080000000)},
                "sm_100a") == 0x40A0000000000000);
  CHECK(failure({.body = "min.f32 %r1, %r2, %r3, %r4;"}) != "");
}

TEST_CASE("what lies outside of a tensor makes fma.oob zero") {
  CHECK(compute("fma.rn.oob.f16 %d, %a, %b, %c;", 16, {b16(0x7FFF), b16(0x3C00), b16(0x3C00)}) == 0);
  CHECK(compute("fma.rn.oob.bf16x2 %d, %a, %b, %c;", 32,
                {b32(0x3F807FFF), b32(0x40004000), b32(0x3F803F80)}) == 0x40400000);
  CHECK(compute("fma.rn.f16 %d, %a, %b, %c;", 16, {b16(0x7FFF), b16(0x3C00), b16(0x3C00)}) == 0x7FFF);
}

TEST_CASE("approximations of f64 see the upper word") {
  CHECK(compute("rcp.approx.ftz.f64 %d, %a;", 64, {b64(0x40000000FFFFFFFF)}) == 0x3FE0000000000000);
  CHECK(compute("rcp.approx.ftz.f64 %d, %a;", 64, {b64(1)}) == 0x7FF0000000000000);
  CHECK(compute("rcp.approx.ftz.f64 %d, %a;", 64, {f64(NAN)}) == 0x7FFFFFFF00000000);
  CHECK(compute("rsqrt.approx.ftz.f64 %d, %a;", 64, {f64(16)}) == 0x3FD0000000000000);
  CHECK(asDouble(compute("rsqrt.approx.f64 %d, %a;", 64, {f64(16)})) == 0.25);
}

TEST_CASE("set of halves and to halves, setp and slct under ftz") {
  CHECK(compute("set.lt.f16.f16 %d, %a, %b;", 16, {b16(0x3C00), b16(0x4000)}) == 0x3C00);
  CHECK(compute("set.lt.u16.bf16 %d, %a, %b;", 16, {b16(0x3F80), b16(0x4000)}) == 0xFFFF);
  CHECK(compute("set.eq.f16.s32 %d, %a, %b;", 16, {b32(7), b32(7)}) == 0x3C00);
  CHECK(compute("set.gt.bf16.bf16 %d, %a, %b;", 16, {b16(0x3F80), b16(0x4000)}) == 0);
  CHECK(compute("set.lt.f16x2.f16x2 %d, %a, %b;", 32, {b32(0x3C004000), b32(0x40003C00)}) == 0x3C000000);
  CHECK(compute("set.lt.u32.f16x2 %d, %a, %b;", 32, {b32(0x3C004000), b32(0x40003C00)}) == 0xFFFF0000);
  CHECK(compute("set.ge.bf16x2.bf16x2 %d, %a, %b;", 32, {b32(0x3F804000), b32(0x40003F80)}) == 0x00003F80);
  CHECK(compute("set.eq.ftz.u16.f16 %d, %a, %b;", 16, {b16(0x0001), b16(0x8002)}) == 0xFFFF);
  CHECK(compute("set.eq.u16.f16 %d, %a, %b;", 16, {b16(0x0001), b16(0x8002)}) == 0);
  CHECK(compute("setp.eq.ftz.f16 %d, %a, %b;", 1, {b16(0x0001), b16(0x0002)}) == 1);
  CHECK(compute("setp.eq.ftz.f16x2 %d|%p1, %a, %b;", 1, {b32(0x00000001), b32(0x00000002)}) == 1);
  CHECK(compute("slct.ftz.b32.f32 %d, %a, %b, %c;", 32, {b32(1), b32(2), f32(-0x1p-130f)}) == 1);
  CHECK(compute("slct.b32.f32 %d, %a, %b, %c;", 32, {b32(1), b32(2), f32(-0x1p-130f)}) == 2);
  CHECK(compute("slct.ftz.b32.f32 %d, %a, %b, %c;", 32, {b32(1), b32(2), f32(notANumber)}) == 2);
}

TEST_CASE("setp, set, selp, slct, testp") {
  CHECK(compute("setp.lt.s32 %d, %a, %b;", 1, {b32(0xFFFFFFFF), b32(1)}) == 1);
  CHECK(compute("setp.lt.u32 %d, %a, %b;", 1, {b32(0xFFFFFFFF), b32(1)}) == 0);
  CHECK(compute("setp.hs.u64 %d, %a, %b;", 1, {b64(5), b64(5)}) == 1);
  CHECK(compute("setp.ne.f32 %d, %a, %b;", 1, {f32(notANumber), f32(1)}) == 0);
  CHECK(compute("setp.neu.f32 %d, %a, %b;", 1, {f32(notANumber), f32(1)}) == 1);
  CHECK(compute("setp.gtu.f32 %d, %a, %b;", 1, {f32(notANumber), f32(1)}) == 1);
  CHECK(compute("setp.nan.f64 %d, %a, %a;", 1, {f64(NAN)}) == 1);
  CHECK(compute("setp.eq.ftz.f32 %d, %a, 0f00000000;", 1, {f32(0x1p-130f)}) == 1);
  CHECK(compute("setp.ge.bf16 %d, %a, %b;", 1, {b16(0x4000), b16(0x3F80)}) == 1);
  CHECK(compute("setp.lt.s32 %p1|%p2, %a, %b; setp.eq.and.s32 %d, %a, %a, !%p2;", 1, {b32(1), b32(2)}) == 1);
  CHECK(compute("setp.lt.f16x2 %p1|%p2, %a, %b; not.pred %p1, %p1; and.pred %d, %p1, %p2;", 1,
                {b32(0x3C004000), b32(0x40003C00)}) == 1);
  CHECK(compute("set.gt.u32.f32 %d, %a, %b;", 32, {f32(2), f32(1)}) == 0xFFFFFFFF);
  CHECK(compute("set.lt.f32.s32 %d, %a, %b;", 32, {b32(1), b32(2)}) == 0x3F800000);
  CHECK(compute("setp.eq.s32 %p1, %a, 7; selp.b16 %d, %b, %c, %p1;", 16, {b32(7), b16(1), b16(2)}) == 1);
  CHECK(compute("slct.b32.s32 %d, %a, %b, %c;", 32, {b32(1), b32(2), b32(uint32_t(-1))}) == 2);
  CHECK(compute("testp.infinite.f32 %d, %a;", 1, {f32(infinity)}) == 1);
}

TEST_CASE("mov packs, unpacks and moves bits") {
  CHECK(compute("mov.b32 %d, {%a, %b};", 32, {b16(0x1111), b16(0x2222)}) == 0x22221111);
  CHECK(compute("mov.b64 {%r1, %d}, %a;", 32, {b64(0x1111111122222222)}) == 0x11111111);
  CHECK(compute("mov.b64 %d, {%a, %b};", 64, {b32(1), b32(2)}) == 0x200000001);
  CHECK(compute(".reg .b128 %q; mov.b128 %q, {%a, %b}; mov.b128 {%d1, %d}, %q;", 64, {b64(1), b64(2)}) == 2);
  CHECK(compute("mov.f32 %d, 0f3FC00000;", 32, {}) == bits(1.5f));
  CHECK(compute("mov.b32 %d, 1.5;", 32, {}) == bits(1.5f));
  CHECK(compute("{ .reg .pred p; setp.ne.b32 p, %a, 0; selp.b32 %d, 1, 2, p; }", 32, {b32(0)}) == 2);
}
