// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program says of members of a table, and is not so, is found by the emulator. A GPU does not survive
/// it.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Matchers::Contains;

namespace {

/// What the device says of a copy of `rows` rows of 32 floats of member `number`.
std::string copyError(const std::vector<Memory *> &members, int64_t number, int64_t rows, int64_t alignment) {
  Artifact artifact = compiled(Program::trace("rows", [&](Scope &k) {
    Addresses X = k.addresses("X", f32, 2, {.alignment = alignment});
    Global At = k.input("At", i32, {3}), Y = k.output("Y", f32, {64, 32});
    Fragment x = k.fragment(f32, {64, 32});
    copy(X.of(At.read({0}), {At.read({1}), 32}, {At.read({2})}).tile({0, 0}, {64, 32}), x);
    copy(x, Y.tile({0, 0}, {64, 32}));
  }));
  Memory table = Memory::table(members), y = Memory::filled(f32, {64, 32}, 77),
         at = {i32, {3}, {1}, {double(number), double(rows), double(members[0]->strides[0])}};
  Result<void> done = tryRun(artifact, {&table, &at, &y});
  return done ? "" : done.error().message;
}

} // namespace

TEST_CASE("what is said of members and is not so is found", "[addresses]") {
  Memory first = Memory::filled(f32, {20, 32}, 1), second = Memory::filled(f32, {40, 32}, 1),
         odd = Memory::filled(f32, {20, 32}, 1, 1);
  CHECK(copyError({&first, &second}, 0, 20, 0).empty());
  CHECK(copyError({&first, &second}, 1, 40, 16).empty());
  CHECK_THAT(copyError({&first, &second}, 0, 21, 0),
             Contains("out-of-bounds") && Contains("offset 2560 of the allocation of 2560 bytes at") &&
                 Contains(", where tensor 'X.of(0)' has ended"));
  CHECK_THAT(copyError({&first, &second}, 1, 41, 0),
             Contains("out-of-bounds") && Contains("offset 5120 of the allocation of 5120 bytes at") &&
                 Contains(", where tensor 'X.of(1)' has ended"));
  CHECK_THAT(copyError({&first, nullptr}, 1, 20, 0), Contains("null pointer"));
  CHECK_THAT(copyError({&first, &second}, 2, 20, 0), Contains("null pointer"));
  CHECK_THAT(copyError({&first, &second}, -1, 20, 0), Contains("null pointer"));
  CHECK_THAT(copyError({&odd, &second}, 0, 20, 16), Contains("misaligned"));
}

TEST_CASE("races are of members, as the program calls them", "[addresses]") {
  Artifact artifact = compiled(Program::trace("race", [](Scope &k) {
    Addresses X = k.addresses("X", f32, k.dim("n"), {.use = TensorUse::output});
    auto [block] = k.grid(2);
    Global x = X.of(2 - block, {4, 32}, {32});
    copy(k.fragment(f32, {1, 32}), x.tile({block * 2, 0}, {1, 32}));
  }));
  Memory first = Memory::filled(f32, {4, 32}, 1), second = Memory::filled(f32, {4, 32}, 1);
  Memory apart = Memory::table({nullptr, &first, &second}), same = Memory::table({nullptr, &first, &first});
  CHECK(tryRun(artifact, {&apart}));
  CHECK(tryRun(artifact, {&same}));
  Artifact overlapping = compiled(Program::trace("overlap", [](Scope &k) {
    Addresses X = k.addresses("X", f32, k.dim("n"), {.use = TensorUse::output});
    auto [block] = k.grid(2);
    Fragment numbers = k.fragment(f32, {1, 32});
    numbers = numbers + block.to(f32);
    copy(numbers, X.of(block + 1, {4, 32}, {32}).tile({3, 0}, {1, 32}));
  }));
  CHECK(tryRun(overlapping, {&apart}));
  const Result<void> done = tryRun(overlapping, {&same});
  REQUIRE(!done);
  CHECK_THAT(done.error().message,
             Contains("race between the write of tensor 'X.of(1)' (byte offset 384) and the write by "));
}
