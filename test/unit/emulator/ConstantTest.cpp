// SPDX-License-Identifier: Apache-2.0
/// \file
/// Constant expressions, wherever PTX takes a constant.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

int64_t valueOf(const std::string &expression) {
  return int64_t(compute("mov.u64 %d, " + expression + ";", 64, {}));
}

std::string mistakeOf(const std::string &expression) {
  return failure({.body = "mov.u64 %d1, " + expression + ";"});
}

} // namespace

TEST_CASE("constant expressions have the values that ptxas gives them") {
  const struct {
    const char *text;
    int64_t value;
  } cases[] = {
      {"(1+2)*3", 9},
      {"1<<4|3", 19},
      {"~5", ~5},
      {"!5", 0},
      {"!0", 1},
      {"1?2:3", 2},
      {"0?2:3+4", 7},
      {"0?1:0?3:4", 4},
      {"10-3-2", 5},
      {"100/5/2", 10},
      {"- - 5", 5},
      {"3-(-2)", 5},
      // Precedence.
      {"2+3<<1", 10},
      {"5^3*2", 3},
      {"1|2&4", 1},
      {"6&5|8", 12},
      {"7&3==3", 1},
      {"1<2==1", 1},
      {"3>2>1", 0},
      {"1||0&&0", 1},
      // Signed and unsigned.
      {"-7/2", -3},
      {"-7/2U", 9223372036854775804},
      {"-1>0", 0},
      {"-1>0U", 1},
      {"!5-1>0U", 1},
      {"-7 % 3", 0}, // of unsigned numbers
      {"-8 % 3", 2},
      {"-(5U)/2", 9223372036854775805},
      {"~5/2", 9223372036854775805},
      {"(-1^0)/2", 0},
      {"(1?-1:1U)/2", 0},
      {"0xFFFFFFFFFFFFFFFF/2", 9223372036854775807},
      {"(.s64)0xFFFFFFFFFFFFFFFF/2", 0},
      {"(.u64)-1>>1", 9223372036854775807},
      {"(.s64)-1>>1", -1},
      {"-9223372036854775807-1", INT64_MIN},
      {"(-9223372036854775807-1)/-1", INT64_MIN},
      // Shifts by the low six bits.
      {"1<<70", 64},
      {"1<<63>>63", -1},
      {"-1>>64", -1},
      {"0x8000000000000000>>1", 4611686018427387904},
      {"WARP_SZ-33", -1},
      {"(1.5>1.0)-2", -1},
  };
  for (const auto &[text, value] : cases) {
    INFO(text);
    CHECK(valueOf(text) == value);
  }
  CHECK(compute("mov.f64 %d, 1.5*2.0+1.0;", 64, {}) == bits(4.0));
  CHECK(compute("mov.f32 %d, -(1.5)/0d4000000000000000;", 32, {}) == bits(-0.75f));
}

TEST_CASE("constant expressions stand for numbers, offsets, extents and initial values") {
  const auto out = output({.body = R"(
    mov.u32 %r1, table;
    ld.global.b32 %r2, [table + 1<<2];
    mov.u64 %d1, table + (1+1)*4;
    ld.global.b32 %r3, [%d1+-4+4*2];
    ld.global.b32 %r4, [%d1-4];
    ld.global.b64 %d2, [pointer];
    ld.global.b32 %r5, [%d2];
    ld.global.b32 %r6, [floats];
    st.global.v4.b32 [%out + 4*0], {%r2, %r3, %r4, %r5};
    st.global.v4.b32 [%out + (2<<3)], {1+1, 2*3, %r6, ~0};
    selp.b32 %r7, 1+1, 2*2, !%p1;
    st.global.b32 [%out + 0x10|32], %r7;
  )",
                           .header = R"(
    .global .align (8+8) .b32 table[2*2] = { (1+2)*3, 1<<4|3, 1?7:8, -WARP_SZ };
    .global .u64 pointer = table + 4*(1+2);
    .global .f32 floats[1] = { 1.5*2.0 };
  )",
                           .threads = 1});
  CHECK(out[0] == 19);
  CHECK(out[1] == uint32_t(-32));
  CHECK(out[2] == 19);
  CHECK(out[3] == uint32_t(-32));
  CHECK(out[4] == 2);
  CHECK(out[5] == 6);
  CHECK(out[6] == bits(3.0f));
  CHECK(out[7] == ~0u);
  CHECK(out[12] == 2);
}

TEST_CASE("constant expressions that have no value are mistakes with their line") {
  CHECK_THAT(mistakeOf("1/0"), Contains("PTX line 13: a constant expression divides by zero"));
  CHECK_THAT(mistakeOf("5 % (2-2)"), Contains("a constant expression divides by zero"));
  CHECK_THAT(mistakeOf("1+2.0"),
             Contains("'+' takes two integers or two floating-point numbers, but got one of each"));
  CHECK_THAT(mistakeOf("1.5|2.0"), Contains("'|' takes integers, but got 1.5"));
  CHECK_THAT(mistakeOf("~1.5"), Contains("'~' takes an integer, but got 1.5"));
  CHECK_THAT(mistakeOf("(.s64)1.5"), Contains("a cast takes an integer, but got 1.5"));
  CHECK_THAT(mistakeOf("1.5?1:2"), Contains("expected the condition of '?:' to be an integer, but got 1.5"));
  CHECK_THAT(mistakeOf("1?2"), Contains("expected ':', but got ';'"));
  CHECK_THAT(mistakeOf("(1+2"), Contains("expected ')', but got ';'"));
  CHECK_THAT(mistakeOf("1+"), Contains("expected a constant, but got ';'"));
  CHECK_THAT(mistakeOf("1+%r1"), Contains("expected a constant, but got '%r1'"));
  CHECK_THAT(mistakeOf(std::string(100000, '(')), Contains("a constant expression is nested too deeply"));
  CHECK_THAT(mistakeOf(std::string(100000, '-') + "1"),
             Contains("a constant expression is nested too deeply"));
  std::string chosen;
  for (int i = 0; i < 100000; ++i)
    chosen += "0?1:";
  CHECK_THAT(mistakeOf(chosen + "1"), Contains("a constant expression is nested too deeply"));
}
