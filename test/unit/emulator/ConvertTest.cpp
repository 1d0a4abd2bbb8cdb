// SPDX-License-Identifier: Apache-2.0
/// \file
/// cvt: integers, floats, the narrow formats.
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

TEST_CASE("NaN to integers: zero, but the highest bit where one side has 64 bits") {
  CHECK(compute("cvt.rzi.u32.f32 %d, %a;", 32, {f32(notANumber)}) == 0);
  CHECK(compute("cvt.rzi.s64.f32 %d, %a;", 64, {f32(notANumber)}) == uint64_t(1) << 63);
  CHECK(compute("cvt.rzi.u64.f32 %d, %a;", 64, {f32(notANumber)}) == uint64_t(1) << 63);
  CHECK(compute("cvt.rzi.s32.f64 %d, %a;", 32, {f64(NAN)}) == 0x80000000);
  CHECK(compute("cvt.rzi.u32.f64 %d, %a;", 32, {f64(NAN)}) == 0x80000000);
  CHECK(compute("cvt.rni.s16.f16 %d, %a;", 16, {b16(0x7E00)}) == 0);
}

TEST_CASE("cvt in every rounding and saturation") {
  const float value = 1 + 0x1p-8f + 0x1p-20f; // between the bf16s 0x3F80 and 0x3F81, above the middle
  CHECK(compute("cvt.rn.bf16.f32 %d, %a;", 16, {f32(value)}) == 0x3F81);
  CHECK(compute("cvt.rz.bf16.f32 %d, %a;", 16, {f32(value)}) == 0x3F80);
  CHECK(compute("cvt.rm.f16.f32 %d, %a;", 16, {f32(-1 - 0x1p-20f)}) == 0xBC01);
  CHECK(compute("cvt.rp.f16.f32 %d, %a;", 16, {f32(-1 - 0x1p-20f)}) == 0xBC00);
  CHECK(compute("cvt.rp.f16.f32 %d, %a;", 16, {f32(1 + 0x1p-20f)}) == 0x3C01);
  CHECK(compute("cvt.rz.f16.f32 %d, %a;", 16, {f32(1e6f)}) == 0x7BFF);
  CHECK(compute("cvt.rn.satfinite.f16.f32 %d, %a;", 16, {f32(-1e6f)}) == 0xFBFF);
  CHECK(compute("cvt.rn.sat.f16.f32 %d, %a;", 16, {f32(1e6f)}) == 0x3C00);
  CHECK(compute("cvt.rn.sat.f16.f32 %d, %a;", 16, {f32(notANumber)}) == 0);
  CHECK(compute("cvt.rn.relu.bf16.f32 %d, %a;", 16, {f32(-3)}) == 0);
  CHECK(compute("cvt.rn.relu.bf16.f32 %d, %a;", 16, {f32(notANumber)}) == 0x7FFF);
  CHECK(compute("cvt.rm.bf16.f64 %d, %a;", 16, {f64(-1 - 0x1p-30)}) == 0xBF81);
  CHECK(compute("cvt.rn.bf16.s32 %d, %a;", 16, {b32(257)}) == 0x4380);
  CHECK(compute("cvt.rp.bf16.u16 %d, %a;", 16, {b16(257)}) == 0x4381);
  CHECK(compute("cvt.rn.f16.bf16 %d, %a;", 16, {b16(0x4780)}) == 0x7C00);
  CHECK(compute("cvt.rpi.bf16.bf16 %d, %a;", 16, {b16(0x3FA0)}) == 0x4000);
  CHECK(compute("cvt.rmi.f16.f16 %d, %a;", 16, {b16(0xBD00)}) == 0xC000);
  CHECK(compute("cvt.rzi.sat.s8.f32 %d, %a;", 16, {f32(-300)}) == 0xFF80);
  CHECK(compute("cvt.rni.u8.f16 %d, %a;", 16, {b16(0x5C00)}) == 0xFF);
  CHECK(compute("cvt.rn.ftz.f32.f64 %d, %a;", 32, {f64(-0x1p-130)}) == 0x80000000);
  CHECK(compute("cvt.rm.f64.u64 %d, %a;", 64, {b64(~uint64_t(0))}) == bits(0x1.fffffffffffffp63));
}

TEST_CASE("tf32 in its roundings") {
  CHECK(compute("cvt.rna.tf32.f32 %d, %a;", 32, {f32(-1 - 0x1p-11f)}) == bits(-1 - 0x1p-10f));
  CHECK(compute("cvt.rn.tf32.f32 %d, %a;", 32, {f32(1 + 0x1p-11f)}) == bits(1.0f));
  CHECK(compute("cvt.rz.tf32.f32 %d, %a;", 32, {f32(1 + 0x1.8p-11f)}) == bits(1.0f));
  CHECK(compute("cvt.rn.relu.tf32.f32 %d, %a;", 32, {f32(-1)}) == 0);
  CHECK(compute("cvt.rna.tf32.f32 %d, %a;", 32, {f32(notANumber)}) == 0x7FFFFFFF);
  CHECK(compute("cvt.rn.satfinite.tf32.f32 %d, %a;", 32, {f32(infinity)}, "sm_100a") == 0x7F7FE000);
}

TEST_CASE("fp8: largest values, subnormals, NaN, relu") {
  CHECK(compute("cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", 16, {f32(infinity), f32(-1.5f)}) == 0x7BBE);
  CHECK(compute("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", 16, {f32(notANumber), f32(-1000)}) == 0x7FFE);
  CHECK(compute("cvt.rn.satfinite.relu.e4m3x2.f32 %d, %a, %b;", 16, {f32(-2), f32(2)}) == 0x0040);
  CHECK(compute("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", 16, {f32(0x1p-9f), f32(0x1p-10f)}) == 0x0100);
  CHECK(compute("cvt.rn.satfinite.e4m3x2.f16x2 %d, %a;", 16, {b32(0x3C00C000)}) == 0x38C0);
  CHECK(compute("cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", 16, {f32(1.125f), f32(1.375f)}) == 0x3C3E);
  CHECK(compute("cvt.rn.f16x2.e5m2x2 %d, %a;", 32, {b16(0x7C01)}) == 0x7C000100);
  CHECK(compute("cvt.rn.relu.f16x2.e4m3x2 %d, %a;", 32, {b16(0xB87F)}) == 0x00007FFF);
}

TEST_CASE("formats of 4 and 6 bits saturate, NaN is their largest value") {
  // e2m1: 0 .5 1 1.5 2 3 4 6
  const auto nibbles = [&](float high, float low) {
    return compute(
        "{ .reg .b8 x, y; mov.b16 {y, x}, 0; cvt.rn.satfinite.e2m1x2.f32 x, %a, %b; mov.b16 %d, {x, y}; }",
        16, {f32(high), f32(low)}, "sm_100a");
  };
  CHECK(nibbles(6, 0.5f) == 0x71);
  CHECK(nibbles(100, -100) == 0x7F);
  CHECK(nibbles(notANumber, 2.5f) == 0x74);
  CHECK(nibbles(5, -0.25f) == 0x68);
  CHECK(nibbles(0.75f, 1.25f) == 0x22);
  CHECK(compute("{ .reg .b8 x, y; mov.b16 {x, y}, %a; cvt.rn.f16x2.e2m1x2 %d, x; }", 32, {b16(0x97)},
                "sm_100a") == 0xB8004600);
  CHECK(compute("cvt.rn.satfinite.e2m3x2.f32 %d, %a, %b;", 16, {f32(7.5f), f32(-100)}, "sm_100a") == 0x1F3F);
  CHECK(compute("cvt.rn.satfinite.e2m3x2.f32 %d, %a, %b;", 16, {f32(0.125f), f32(1)}, "sm_100a") == 0x0108);
  CHECK(compute("cvt.rn.satfinite.relu.e3m2x2.f32 %d, %a, %b;", 16, {f32(28), f32(-1)}, "sm_100a") == 0x1F00);
  CHECK(compute("cvt.rn.satfinite.e3m2x2.f32 %d, %a, %b;", 16, {f32(notANumber), f32(0.0625f)}, "sm_100a") ==
        0x1F01);
  CHECK(compute("cvt.rn.f16x2.e3m2x2 %d, %a;", 32, {b16(0x3F01)}, "sm_100a") == 0xCF002C00);
  CHECK(compute("cvt.rn.f16x2.e2m3x2 %d, %a;", 32, {b16(0x1F21)}, "sm_100a") == 0x4780B000);
}

TEST_CASE("ue8m0 holds powers of two") {
  CHECK(compute("cvt.rz.ue8m0x2.f32 %d, %a, %b;", 16, {f32(3), f32(0.75f)}, "sm_100a") == 0x807E);
  CHECK(compute("cvt.rp.ue8m0x2.f32 %d, %a, %b;", 16, {f32(3), f32(0.75f)}, "sm_100a") == 0x817F);
  CHECK(compute("cvt.rp.ue8m0x2.f32 %d, %a, %b;", 16, {f32(4), f32(0)}, "sm_100a") == 0x8100);
  CHECK(compute("cvt.rz.ue8m0x2.f32 %d, %a, %b;", 16, {f32(infinity), f32(notANumber)}, "sm_100a") == 0xFFFF);
  CHECK(compute("cvt.rz.satfinite.ue8m0x2.f32 %d, %a, %b;", 16, {f32(infinity), f32(notANumber)},
                "sm_100a") == 0xFEFF);
  CHECK(compute("cvt.rp.satfinite.ue8m0x2.bf16x2 %d, %a;", 16, {b32(0x3F817F7F)}, "sm_100a") == 0x80FE);
  CHECK(compute("cvt.rn.bf16x2.ue8m0x2 %d, %a;", 32, {b16(0x7FFF)}, "sm_100a") == 0x3F807FFF);
}

TEST_CASE("stochastic rounding adds random bits to those that go") {
  // f16 drops 13 bits of an f32; halfway between two, half of the random bits carry.
  const Value middle = f32(1 + 0x1p-11f);
  CHECK(compute("cvt.rs.f16x2.f32 %d, %a, %a, %b;", 32, {middle, b32(0x10000FFF)}, "sm_100a") == 0x3C013C00);
  CHECK(compute("cvt.rs.bf16x2.f32 %d, %a, %a, %b;", 32, {f32(1 + 0x1p-8f), b32(0x80007FFF)}, "sm_100a") ==
        0x3F813F80);
  CHECK(compute("cvt.rs.f16x2.f32 %d, %a, %b, 0;", 32, {f32(1e6f), f32(-2)}, "sm_100a") == 0x7C00C000);
  CHECK(compute("cvt.rs.satfinite.e4m3x4.f32 %d, {%a, %a, %a, %b}, %c;", 32,
                {f32(1.0625f), f32(1000), b32(0x7F80FF00)}, "sm_100a") == 0x3839397E);
  CHECK(compute("cvt.rs.relu.satfinite.e2m1x4.f32 %d, {%a, %b, %a, %b}, 0;", 16, {f32(-1), f32(2.5f)},
                "sm_100a") == 0x0404);
}

TEST_CASE("cvt.pack saturates two integers and shifts a third") {
  CHECK(compute("cvt.pack.sat.s16.s32 %d, %a, %b;", 32, {b32(uint32_t(-70000)), b32(5)}) == 0x80000005);
  CHECK(compute("cvt.pack.sat.u16.s32 %d, %a, %b;", 32, {b32(uint32_t(-1)), b32(70000)}) == 0x0000FFFF);
  CHECK(compute("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", 32, {b32(300), b32(7), b32(0x12345678)}) ==
        0x5678FF07);
  CHECK(compute("cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c;", 32,
                {b32(uint32_t(-300)), b32(7), b32(0x12345678)}) == 0x56788007);
  CHECK(compute("cvt.pack.sat.s4.s32.b32 %d, %a, %b, %c;", 32,
                {b32(uint32_t(-9)), b32(9), b32(0x12345678)}) == 0x34567887);
  CHECK(compute("cvt.pack.sat.u2.s32.b32 %d, %a, %b, %c;", 32, {b32(2), b32(9), b32(0x12345678)}) ==
        0x2345678B);
}
