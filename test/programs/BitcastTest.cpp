// SPDX-License-Identifier: Apache-2.0
/// \file
/// The bits of elements as another type, of every code of 8 bits and of many of 32, NaN's payloads among
/// them.
#include "kernels/harness/ElementBits.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// X's bits as `to`, in tiles that do not divide its length.
Memory bitsOf(Memory &x, ElementType to) {
  Artifact artifact = compiled(Program::trace("bits", [&](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", x.element, {n}), Y = k.output("Y", to, {n});
    auto [i] = k.grid(ceilDiv(n, 256));
    Fragment tile = k.fragment(x.element, {256});
    copy(X.tile({i * 256}, {256}), tile);
    copy(bitcast(tile, to), Y.tile({i * 256}, {256}));
  }));
  Memory y = Memory::filled(to, x.shape, notANumber);
  run(artifact, {&x, &y});
  return y;
}

Memory of(ElementType element, const std::vector<double> &values) {
  Memory memory = Memory::filled(element, {int64_t(values.size())}, 0);
  memory.values = values;
  return memory;
}

} // namespace

TEST_CASE("floats of 8 bits have the bits of integers", "[bitcast]") {
  ElementType type = GENERATE(e4m3, e5m2);
  std::vector<double> codes(256), numbers(256);
  for (size_t code = 0; code < codes.size(); ++code) {
    codes[code] = double(code);
    numbers[code] = kernels::decodeElement(type, code);
  }
  Memory x = of(u8, codes);
  Memory y = bitsOf(x, type);
  for (size_t code = 0; code < codes.size(); ++code) {
    INFO("code " << code);
    CHECK((y.values[code] == numbers[code] || (std::isnan(y.values[code]) && std::isnan(numbers[code]))));
  }
  Memory finite = of(type, numbers);
  Memory back = bitsOf(finite, u8);
  for (size_t code = 0; code < codes.size(); ++code)
    if (std::isfinite(numbers[code]))
      CHECK(back.values[code] == double(code));
}

TEST_CASE("floats of 32 bits have the bits of integers, and none of them changes", "[bitcast]") {
  std::vector<double> codes;
  for (uint64_t high = 0; high < 1 << 12; ++high)
    for (uint64_t low : {0x0u, 0x1u, 0x80000u, 0xfffffu})
      codes.push_back(double(high << 20 | low));
  ElementType integer = GENERATE(u32, i32);
  Artifact artifact = compiled(Program::trace("there_and_back", [&](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", u32, {n}), Y = k.output("Y", u32, {n}), Z = k.output("Z", f32, {n});
    auto [i] = k.grid(ceilDiv(n, 512));
    Fragment x = k.fragment(u32, {512});
    copy(X.tile({i * 512}, {512}), x);
    FragmentValue number = bitcast(x.to(integer), f32);
    copy(number, Z.tile({i * 512}, {512}));
    copy(bitcast(number, u32), Y.tile({i * 512}, {512}));
  }));
  Memory x = of(u32, codes), y = Memory::filled(u32, x.shape, 0), z = Memory::filled(f32, x.shape, 0);
  run(artifact, {&x, &y, &z});
  CHECK(y.values == codes);
  for (size_t i = 0; i < codes.size(); ++i) {
    double number = kernels::decodeElement(f32, uint64_t(codes[i]));
    CHECK((z.values[i] == number || (std::isnan(z.values[i]) && std::isnan(number))));
  }
}

TEST_CASE("floats of 64 bits have the bits of integers", "[bitcast]") {
  Memory x = of(f64, {1, -2, 0.5, -0.0, 0x1p-1022});
  Memory y = bitsOf(x, i64);
  CHECK(y.values == std::vector<double>{0x3ffp52, double(int64_t(0xcull << 60)), 0x3fep52,
                                        double(std::numeric_limits<int64_t>::min()), 0x1p52});
}

TEST_CASE("integers of 64 bits of the source are exact", "[bitcast]") {
  constexpr int64_t odd = (int64_t(1) << 53) + 1, all = std::numeric_limits<int64_t>::max();
  Artifact artifact = compiled(Program::trace("exact", [&](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", i64, {n}), Y = k.output("Y", i64, {n}), Z = k.output("Z", i64, {n});
    auto [i] = k.grid(ceilDiv(n, 128));
    Fragment x = k.fragment(i64, {128});
    copy(X.tile({i * 128}, {128}), x);
    copy(x + odd - (odd - 1), Y.tile({i * 128}, {128}));
    copy((x + std::numeric_limits<int64_t>::min()) & all, Z.tile({i * 128}, {128}));
  }));
  std::vector<double> numbers(130);
  std::iota(numbers.begin(), numbers.end(), 0);
  Memory x = of(i64, numbers), y = Memory::filled(i64, x.shape, -1), z = Memory::filled(i64, x.shape, -1);
  run(artifact, {&x, &y, &z});
  CHECK(z.values == numbers);
  for (double &number : numbers)
    ++number;
  CHECK(y.values == numbers);
}
