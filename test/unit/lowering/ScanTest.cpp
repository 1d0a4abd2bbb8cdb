// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scans in every layout, run on the emulator, against sums, maxima and products of doubles.
#include "dialects/layout/LayoutText.h"
#include "test/unit/lowering/KernelRun.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {
using Random = std::mt19937;

int64_t drawn(Random &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

/// Lanes and warps of a block of four lie along any axis at any step, or hold the same; registers do the
/// rest.
FragmentLayout randomLayout(const Shape &shape, Random &random) {
  std::array<FragmentLayout::Modes, 3> modes;
  Shape covered(shape.size(), 1);
  auto add = [&](HardwareAxis hardware, int64_t extent, int axis) {
    LayoutMode mode = LayoutMode::replicated(extent);
    if (axis >= 0) {
      mode = {extent, axis, covered[size_t(axis)]};
      covered[size_t(axis)] *= extent;
    }
    modes[size_t(hardware)].push_back(mode);
  };
  std::vector<std::pair<HardwareAxis, int64_t>> digits(5, {HardwareAxis::lane, 2});
  digits.insert(digits.end(), 2, {HardwareAxis::warp, 2});
  for (int64_t i = drawn(random, 0, 2); i > 0; --i)
    digits.push_back({HardwareAxis::reg, drawn(random, 2, 3)});
  std::shuffle(digits.begin(), digits.end(), random);
  for (auto [hardware, extent] : digits) {
    auto axis = int(drawn(random, 0, 5) % 3) - 1;
    bool isNeeded = axis >= 0 && covered[size_t(axis)] < shape[size_t(axis)];
    if (hardware != HardwareAxis::reg || isNeeded)
      add(hardware, extent, isNeeded ? axis : -1);
  }
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (int64_t left = (shape[axis] + covered[axis] - 1) / covered[axis]; left > 1)
      add(HardwareAxis::reg, left, int(axis));
  return FragmentLayout::get(int(shape.size()), modes[0], modes[1], modes[2]);
}

/// Parts that warps tell each other; 0 where they share no axis.
int64_t partsAlong(const FragmentLayout &layout, int axis) {
  int64_t step = layout.coveredExtent(axis);
  auto warps = layout.reduction(axis).warps;
  for (const PlacedMode &mode : warps)
    step = std::min(step, mode.mode.step);
  return warps.empty() ? 0 : layout.coveredExtent(axis) / step;
}

std::string kernel(const FragmentLayout &layout, const Shape &shape, const std::string &element,
                   const std::string &scan, int axis) {
  Shape scratch = shape;
  int64_t parts = partsAlong(layout, axis);
  scratch[size_t(axis)] = std::max<int64_t>(parts, 1);
  int bits = int(sizeInBytes(*parseElementType(element))) * 8;
  std::string scratchType = shared(SharedLayout::plain(scratch, bits, 1), element);
  return substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?x$e> {program.argument = #program.tensor<"X", input, dims[0, 1]>},
    %Y: !tile.global<?x?x$e> {program.argument = #program.tensor<"Y", inout, dims[0, 1]>}) attributes {launch = #program.launch<warps = 4, shared_bytes = 131072>} {
  %c0 = arith.constant 0 : index
  %scratch = tile.alloc_shared "scan" at 0 : $scratch
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<$shapex$e>
  %v = tile.load %sx : !tile.slice<$shapex$e> -> $type
  %r = tile.scan $scan $with : $type
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<$shapex$e>
  tile.store %r, %sy atom simt : $type, !tile.slice<$shapex$e>
  tile.return
}
})",
      {{"$shape", std::to_string(shape[0]) + "x" + std::to_string(shape[1])},
       {"$with", parts > 0 ? "scratch %scratch : " + scratchType : ""},
       {"$scratch", scratchType},
       {"$scan", scan},
       {"$type", fragment(shape, element, layout)},
       {"$e", element}});
}

double combined(const std::string &kind, double a, double b) {
  auto x = int64_t(a), y = int64_t(b);
  bool isNaN = std::isnan(a) || std::isnan(b);
  return kind == "sum"          ? a + b
         : kind == "product"    ? a * b
         : kind == "max"        ? std::fmax(a, b)
         : kind == "min"        ? std::fmin(a, b)
         : kind == "bit_and"    ? double(x & y)
         : kind == "bit_or"     ? double(x | y)
         : kind == "bit_xor"    ? double(x ^ y)
         : isNaN                ? std::nan("")
         : kind == "max_or_nan" ? std::max(a, b)
                                : std::min(a, b);
}

void check(const FragmentLayout &layout, const Shape &shape, ElementType type, const std::string &kind,
           int axis, bool reverse, HostTensor x) {
  INFO(kind << " along axis " << axis << (reverse ? " backward" : "") << " of " << shape[0] << "x" << shape[1]
            << " of " << toString(type) << " in " << printLayout(layout));
  HostTensor y = poisoned(type, shape);
  std::string scan = kind + " %v axis(" + std::to_string(axis) + ")" + (reverse ? " reverse" : "");
  runKernels(kernel(layout, shape, std::string(toString(type)), scan, axis), {&x, &y});
  int64_t lines = shape[size_t(1 - axis)], extent = shape[size_t(axis)];
  bool same = true;
  for (int64_t line = 0; line < lines; ++line) {
    double expected = 0;
    for (int64_t i = 0; i < extent; ++i) {
      int64_t at = reverse ? extent - 1 - i : i;
      double value = axis == 0 ? x.at(at, line) : x.at(line, at);
      expected = i == 0 ? value : combined(kind, expected, value);
      double actual = axis == 0 ? y.at(at, line) : y.at(line, at);
      same &= actual == expected || (std::isnan(actual) && std::isnan(expected));
    }
  }
  CHECK(same);
}

/// Numbers whose sums and products are exact.
HostTensor numbersFor(const std::string &kind, ElementType type, const Shape &shape, Random &random) {
  HostTensor x = randomTensor(type, shape, random);
  constexpr std::array factors = {1.0, -1.0, 1.0, -1.0, 2.0, 0.5};
  if (kind == "product")
    for (double &value : x.values)
      value = factors[size_t(drawn(random, 0, 5))];
  return x;
}
} // namespace

TEST_CASE("a scan combines what comes before, however registers, lanes and warps share its axis") {
  Random random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (int64_t extent : {1, 2, 3, 5, 7, 16, 31, 33, 64, 99, 128, 255, 256, 257, 300})
    for (int axis : {0, 1}) {
      Shape shape = {drawn(random, 1, 9), drawn(random, 1, 9)};
      shape[size_t(axis)] = extent;
      for (const char *kind : {"sum", "max", "min", "product"})
        check(randomLayout(shape, random), shape, ElementType::f32, kind, axis, drawn(random, 0, 1) == 1,
              numbersFor(kind, ElementType::f32, shape, random));
    }
}

TEST_CASE("scans of bits, and of NaN") {
  Random random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Shape shape = {5, 45};
  for (bool reverse : {false, true}) {
    for (ElementType type : {ElementType::i8, ElementType::i32, ElementType::i64})
      for (const char *kind : {"bit_and", "bit_or", "bit_xor"})
        check(randomLayout(shape, random), shape, type, kind, 1, reverse,
              numbersFor(kind, type, shape, random));
    for (ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64})
      for (const char *kind : {"max_or_nan", "min_or_nan"}) {
        HostTensor x = numbersFor(kind, type, shape, random);
        for (int i = 0; i < 3; ++i)
          x.values[size_t(drawn(random, 0, 224))] = std::nan("");
        check(randomLayout(shape, random), shape, type, kind, 1, reverse, std::move(x));
      }
  }
}

TEST_CASE("scans work on every type of number") {
  Random random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Shape shape = {5, 45};
  for (ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f64, ElementType::i8,
                           ElementType::i32, ElementType::i64})
    for (const char *kind : {"sum", "max", "min"})
      for (bool reverse : {false, true})
        check(randomLayout(shape, random), shape, type, kind, 1, reverse,
              numbersFor(kind, type, shape, random));
}

TEST_CASE("a maximum of nothing but NaN is NaN, beside padding, too") {
  Random random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Shape shape = {3, 37};
  HostTensor x = randomTensor(ElementType::f32, shape, random);
  for (size_t i = 0; i < x.values.size(); ++i)
    if (i % 37 < 9 || i % 37 > 30 || i < 37)
      x.values[i] = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 8; ++i)
    for (bool reverse : {false, true})
      check(randomLayout(shape, random), shape, ElementType::f32, "max", 1, reverse, x);
}
