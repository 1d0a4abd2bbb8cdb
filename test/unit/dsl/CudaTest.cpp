// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions in CUDA C++ that are not called as they may be.
#include "test/unit/dsl/Errors.h"

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("functions in CUDA C++ want numbers that CUDA C++ has", "[dsl][errors][cuda]") {
  const char *source = "float f(float x, float y) { return x + y; }";
  CHECK(errorOf([&](Scope &k) {
          Fragment x = k.fragment(i8, {16, 8}).named("x");
          k.cuda("f", source)(x, 1);
        }) == "expected an operand of 'f' of a type that CUDA C++ has (i32, i64, f16, bf16, f32, f64, u32), "
              "but got 'x' "
              "16x8 of i8; convert it with .to(...)");
  CHECK(errorOf([&](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8}), y = k.fragment(f32, {8, 8});
          k.cuda("f", source)(x, y);
        }) == "expected operands of 'f' with extents that are equal, or 1 where one is repeated, but got "
              "16x8 of f32 and "
              "8x8 of f32");
  CHECK(errorOf([&](Scope &k) { k.cuda("f", source)(1, 2); }) ==
        "expected a fragment as an operand of 'f', but got numbers only");
  CHECK(errorOf([&](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          k.cuda("f", source, {.result = e4m3})(x, x);
        }) ==
        "expected 'f' to give a type that CUDA C++ has (i32, i64, f16, bf16, f32, f64, u32), but got e4m3");
}

TEST_CASE("functions in CUDA C++ want a name, and a file that is there", "[dsl][errors][cuda]") {
  CHECK(errorOf([&](Scope &k) { k.cuda("f(x)", ""); }) ==
        "expected the name of a function in CUDA C++, but got 'f(x)'");
  CHECK(errorOf([&](Scope &k) { k.cudaFile("f", "no such file.cu"); }) ==
        "cannot read 'no such file.cu', the source of 'f'");
}
