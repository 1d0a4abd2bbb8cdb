// SPDX-License-Identifier: Apache-2.0
/// \file
/// Metadata of a sparse factor that says no places of values is found by the emulator. On a GPU products of
/// it are undefined.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// What the device says of a product of 64 rows whose metadata is right but for one byte, of row 21.
std::string errorOf(ElementType element, double byte) {
  constexpr int64_t m = 64, n = 16;
  const int64_t depth = 64 * 8 / bitsOf(element), bytes = element == f32 ? depth / 4 : depth / 8;
  const ElementType sums = element == i8 ? i32 : f32;
  Artifact artifact = compiled(Program::trace("product", [&](Scope &k) {
    Global A = k.input("A", element, {m, depth / 2}), E = k.input("E", u8, {m, bytes}),
           B = k.input("B", element, {n, depth}), C = k.output("C", sums, {m, n});
    Shared a = k.shared("a", element, {m, depth / 2}), b = k.shared("b", element, {n, depth});
    Fragment metadata = k.fragment(u8, {m, bytes}), acc = k.fragment(sums, {m, n});
    copy(A.tile({0, 0}, {m, depth / 2}), a);
    copy(E.tile({0, 0}, {m, bytes}), metadata);
    copy(B.tile({0, 0}, {n, depth}), b);
    gemm(Sparse{a, metadata}, b.t(), acc);
    copy(acc, C.tile({0, 0}, {m, n}));
  }));
  Memory a = Memory::filled(element, {m, depth / 2}, 1), metadata = Memory::filled(u8, {m, bytes}, 0x44),
         b = Memory::filled(element, {n, depth}, 1), c = Memory::filled(sums, {m, n}, 0);
  metadata.at({21, 1}) = byte;
  Result<void> done = tryRun(artifact, {&a, &metadata, &b, &c});
  return done ? "" : done.error().message;
}

} // namespace

TEST_CASE("metadata that is no pair of places is found", "[sparse-products]") {
  using Catch::Matchers::Contains;
  CHECK(errorOf(bf16, 0x44) == "");
  CHECK_THAT(
      errorOf(bf16, 0x04),
      Contains("the metadata of row 21, group 3 is 0000, but needs two places, the smaller one lower"));
  CHECK_THAT(
      errorOf(i8, 0x14),
      Contains("the metadata of row 21, group 3 is 0001, but needs two places, the smaller one lower"));
  CHECK_THAT(errorOf(f32, 0x84), Contains("the metadata of row 21, group 3 is 1000, but needs 0100 or 1110"));
}
