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

TEST_CASE("cvt between integers") {
  CHECK(compute("cvt.u64.u32 %d, %a;", 64, {b32(0xFFFFFFFF)}) == 0xFFFFFFFF);
  CHECK(compute("cvt.s64.s32 %d, %a;", 64, {b32(0xFFFFFFFF)}) == ~uint64_t(0));
  CHECK(compute("cvt.u32.u64 %d, %a;", 32, {b64(0x123456789)}) == 0x23456789);
  CHECK(compute("cvt.s32.s8 %d, %a;", 32, {b32(0x180)}) == 0xFFFFFF80);
  CHECK(compute("cvt.u32.u8 %d, %a;", 32, {b16(0x1FF)}) == 0xFF);
  CHECK(compute("cvt.sat.s8.s32 %d, %a;", 32, {b32(1000)}) == 127);
  CHECK(compute("cvt.sat.u8.s32 %d, %a;", 32, {b32(uint32_t(-4))}) == 0);
  CHECK(compute("cvt.sat.u32.u64 %d, %a;", 32, {b64(uint64_t(1) << 40)}) == 0xFFFFFFFF);
}

TEST_CASE("cvt between integers and floats") {
  CHECK(asFloat(compute("cvt.rn.f32.s32 %d, %a;", 32, {b32(uint32_t(-5))})) == -5);
  CHECK(asFloat(compute("cvt.rz.f32.u32 %d, %a;", 32, {b32(0xFFFFFFFF)})) == 0x1.fffffep31f);
  CHECK(asFloat(compute("cvt.rn.f32.u64 %d, %a;", 32, {b64(0x8000008000000001)})) == 0x1.000002p63f);
  CHECK(asDouble(compute("cvt.rn.f64.s64 %d, %a;", 64, {b64(uint64_t(-3))})) == -3);
  CHECK(compute("cvt.rzi.s32.f32 %d, %a;", 32, {f32(-2.7f)}) == uint32_t(-2));
  CHECK(compute("cvt.rni.s32.f32 %d, %a;", 32, {f32(2.5f)}) == 2);
  CHECK(compute("cvt.rpi.s32.f32 %d, %a;", 32, {f32(2.1f)}) == 3);
  CHECK(compute("cvt.rzi.u32.f32 %d, %a;", 32, {f32(-5)}) == 0);
  CHECK(compute("cvt.rzi.s32.f32 %d, %a;", 32, {f32(1e20f)}) == 0x7FFFFFFF);
  CHECK(compute("cvt.rzi.s32.f32 %d, %a;", 32, {f32(notANumber)}) == 0);
  CHECK(compute("cvt.rn.f16.s32 %d, %a;", 16, {b32(3)}) == 0x4200);
}

TEST_CASE("cvt between floats") {
  CHECK(compute("cvt.rn.bf16.f32 %d, %a;", 16, {f32(1.0f)}) == 0x3F80);
  CHECK(asFloat(compute("cvt.f32.bf16 %d, %a;", 32, {b16(0x4040)})) == 3);
  CHECK(compute("cvt.rn.f16.f32 %d, %a;", 16, {f32(65536)}) == 0x7C00);
  CHECK(asFloat(compute("cvt.f32.f16 %d, %a;", 32, {b16(0x0001)})) == 0x1p-24f);
  CHECK(asFloat(compute("cvt.rn.f32.f64 %d, %a;", 32, {f64(0.1)})) == 0.1f);
  CHECK(asFloat(compute("cvt.rni.f32.f32 %d, %a;", 32, {f32(2.5f)})) == 2);
  CHECK(asFloat(compute("cvt.sat.f32.f32 %d, %a;", 32, {f32(2.5f)})) == 1);
  CHECK(compute("cvt.rn.bf16x2.f32 %d, %a, %b;", 32, {f32(2), f32(1)}) == 0x40003F80);
  CHECK(compute("cvt.rn.relu.f16x2.f32 %d, %a, %b;", 32, {f32(-2), f32(1)}) == 0x00003C00);
  CHECK(compute("cvt.rz.bf16x2.f32 %d, %a, %b;", 32, {f32(1 + 0x1.8p-8f), f32(1)}) == 0x3F803F80);
  CHECK(compute("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", 16, {f32(1000), f32(1)}) == 0x7E38);
  CHECK(compute("cvt.rn.f16x2.e4m3x2 %d, %a;", 32, {b16(0x7E38)}) == 0x5F003C00);
  CHECK(compute("cvt.rna.tf32.f32 %d, %a;", 32, {f32(1 + 0x1p-11f)}) == bits(1 + 0x1p-10f));
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
