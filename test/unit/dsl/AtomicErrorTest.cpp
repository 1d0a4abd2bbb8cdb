// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes in atomic operations: every diagnostic, by its text.
#include "test/unit/dsl/Errors.h"

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("atomic sums want wide elements", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", bf16, {64, 64});
          atomicAdd(k.fragment(bf16, {16, 64}), A.tile({0, 0}, {16, 64}));
        }) == "atomic operation: expected f32, f64, i32, u32 or i64 because narrower elements are too "
              "inexact for sums, "
              "but 'A' has 'bf16'\n'A' is declared here");
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", f32, {64, 64});
          atomicAdd(1, A.tile({0, 0}, {16, 64}));
        }) == "atomic operation: expected a slice of one element of 'A' because one number is combined with "
              "it, but got "
              "16x64\n'A' is declared here");
}

TEST_CASE("atomic minima and bits are of integers", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", f32, {64});
          atomicMin(k.fragment(f32, {64}), A.tile({0}, {64}));
        }) == "atomic operation: expected i32, u32 or i64 because other minima, maxima and bits are not "
              "combined atomically, but 'A' has 'f32'\n'A' is declared here");
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", bf16, {64});
          atomicOr(k.shared("a", bf16, {64}), A.tile({0}, {64}));
        }) == "atomic copy: expected i32 because the TMA combines the bits of no others, but 'A' has "
              "'bf16'\n'A' is declared here");
}

TEST_CASE("old elements have the extents and the type of the slice", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", i32, {64});
          Fragment old = k.fragment(f32, {64});
          atomicExchange(1, A.tile({0}, {64}), old);
        }) ==
        "expected a fragment of i32 for the old elements of atomicExchange because 'A' has such, but got one "
        "of f32\nthe fragment is declared here");
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", i32, {64});
          Fragment old = k.fragment(i32, {32});
          atomicAdd(1, A.tile({0}, {64}), old);
        }) == "atomic operation: expected the fragment and 'A' to have the same extents, those of 1 aside, "
              "but got 32 "
              "and 64\n'A' is declared here");
}

TEST_CASE("operands of atomic operations fit the old elements", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", i32, {4, 64});
          Fragment old = k.fragment(i32, {4, 64});
          atomicAdd(k.fragment(i32, {3, 64}), A.tile({0, 0}, {4, 64}), old);
        }) ==
        "expected an operand of atomicAdd of 4x64, as the old elements, or with extents of 1 where one is "
        "repeated, but got 3x64 of i32");
  CHECK(
      errorOf([](Scope &k) {
        Global A = k.inout("A", i32, {64});
        Fragment old = k.fragment(i32, {64});
        atomicCompareAndSwap(k.fragment(f32, {64}), 1, A.tile({0}, {64}), old);
      }) ==
      "expected an operand of atomicCompareAndSwap with the elements that it changes, of i32, but got 64 of "
      "f32");
}

TEST_CASE("what is exchanged fits into one instruction, and what is compared is an integer",
          "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", bf16, {64});
          Fragment old = k.fragment(bf16, {64});
          atomicExchange(1, A.tile({0}, {64}), old);
        }) == "atomic operation: expected f32, f64, i32, u32 or i64 because no other elements are exchanged "
              "atomically, but 'A' has 'bf16'\n'A' is declared here");
  CHECK(errorOf([](Scope &k) {
          Global A = k.inout("A", f32, {64});
          Fragment old = k.fragment(f32, {64});
          atomicCompareAndSwap(0, 1, A.tile({0}, {64}), old);
        }) ==
        "atomic operation: expected i32, u32 or i64 because no other elements are compared and exchanged "
        "atomically, but 'A' has 'f32'\n'A' is declared here");
  CHECK(errorOf([](Scope &k) {
          Fragment old = k.fragment(i32, {64});
          atomicExchange(1, k.input("X", i32, {64}).tile({0}, {64}), old);
        }) ==
        "expected the destination of atomicExchange to be an output because inputs are only read, but 'X' is "
        "an input; declare it with k.inout or k.output\n'X' is declared here");
}
