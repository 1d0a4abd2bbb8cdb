// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments in every layout: loads, stores, reductions, broadcasts, conversions, run on the emulator.
#include "dialects/layout/Relayout.h"
#include "dialects/layout/StockLayouts.h"
#include "test/unit/lowering/KernelRun.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::test;

namespace {
struct Case {
  std::string name;
  std::vector<int64_t> shape;
  FragmentLayout layout;
};

/// Layouts of four warps over tiles of several shapes, padded ones among them.
std::vector<Case> layoutsOfFourWarps() {
  return {
      {"blocked", {32, 64}, blockedLayout({32, 64}, 32, 4, 1)},
      {"blocked along rows", {32, 64}, blockedLayout({32, 64}, 32, 4, 0)},
      {"wgmma", {64, 40}, wgmmaAccumulator(64, 40, {1, 1})},
      {"two blocks of wgmma", {128, 16}, wgmmaAccumulator(128, 16, {1, 1})},
      {"mma, warps along both axes", {32, 48}, mmaAccumulator(32, 48, {2, 2})},
      {"mma, warps along columns", {16, 96}, mmaAccumulator(16, 96, {1, 4})},
      {"padded", {24, 10}, mmaAccumulator(24, 10, {2, 2})},
      {"smaller than its threads", {3, 5}, blockedLayout({3, 5}, 32, 4, 1)},
      {"replicated", {4, 6}, FragmentLayout::replicated({4, 6}, 4)},
      {"replicated in warps", {16, 16}, mmaOperandA(16, 16, 16, {1, 4})},
  };
}

std::string kernel(const std::string &body, const std::string &x = "?x?xf32",
                   const std::string &y = "?x?xf32", const std::string &facts = "") {
  return substitute(R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<$x> {program.argument = #program.tensor<"X", input, dims[0, 1]$facts>},
    %Y: !tile.global<$y> {program.argument = #program.tensor<"Y", inout, dims[0, 1]$facts>}) attributes {warps = 4 : i64} {
  %c0 = arith.constant 0 : index
$body
  tile.return
}
})",
                    {{"$body", body}, {"$x", x}, {"$y", y}, {"$facts", facts}});
}

std::string shapeText(const std::vector<int64_t> &shape) {
  return std::to_string(shape[0]) + "x" + std::to_string(shape[1]);
}
} // namespace

// Aligned tensors are moved in vectors; where a row may end within one, tiles at the edge are not.
TEST_CASE("vectors respect the ends of rows that are no multiple of them") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  FragmentLayout layout = blockedLayout({16, 64}, 16, 4, 1);
  int64_t columns = GENERATE(64, 61, 40, 3);
  HostTensor x = randomTensor(ElementType::bf16, {15, columns}, random),
             y = poisoned(ElementType::bf16, {15, columns});
  x.rowPitch = y.rowPitch = 72;
  std::string text = substitute(R"(
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<16x64xbf16>
  %v = tile.load %sx : !tile.slice<16x64xbf16> -> $type
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?xbf16> -> !tile.slice<16x64xbf16>
  tile.store %v, %sy atom simt : $type, !tile.slice<16x64xbf16>)",
                                {{"$type", fragment({16, 64}, "bf16", layout)}});
  runKernels(kernel(text, "?x?xbf16", "?x?xbf16", ", alignment = 16"), {&x, &y});
  CHECK(y.values == x.values);
}

TEST_CASE("what lies outside a tensor reads as the fill value, on both sides") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  HostTensor x = randomTensor(ElementType::f32, {5, 6}, random), y = poisoned(ElementType::f32, {8, 8});
  std::string text = substitute(R"(
  %cm1 = arith.constant -1 : index
  %fill = arith.constant 9.0 : f32
  %sx = tile.slice %X[%cm1, %cm1] fill %fill : f32 : !tile.global<?x?xf32> -> !tile.slice<8x8xf32>
  %v = tile.load %sx : !tile.slice<8x8xf32> -> $type
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<8x8xf32> -> !tile.slice<8x8xf32>
  tile.store %v, %sy atom simt : $type, !tile.slice<8x8xf32>)",
                                {{"$type", fragment({8, 8}, "f32", blockedLayout({8, 8}, 32, 4, 1))}});
  std::string module = kernel(text, "?x?xf32", "8x8xf32");
  module = substitute(module, {{"inout, dims[0, 1]", "inout, dims[-1, -1]"}});
  runKernels(module, {&x, &y});
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t column = 0; column < 8; ++column) {
      bool inside = row >= 1 && row < 6 && column >= 1 && column < 7;
      CHECK(y.at(row, column) == (inside ? x.at(row - 1, column - 1) : 9));
    }
}

TEST_CASE("reductions combine registers, lanes and warps, and broadcasts give every thread its own") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (Case &c : layoutsOfFourWarps())
    for (int axis : {0, 1})
      for (std::string kind : {"sum", "max", "min"}) {
        INFO(c.name << ", " << kind << " along axis " << axis);
        HostTensor x = randomTensor(ElementType::f32, c.shape, random),
                   y = poisoned(ElementType::f32, c.shape);
        std::vector<int64_t> reduced = c.shape;
        reduced[size_t(axis)] = 1;
        FragmentLayout layout = c.layout.reduced(axis);
        int64_t warps = 1;
        for (const PlacedMode &mode : c.layout.reduction(axis).warps)
          warps *= mode.mode.extent;
        Shape scratchShape = reduced;
        scratchShape[size_t(axis)] = warps;
        std::string scratchType = shared(SharedLayout::plain(scratchShape, 32, 1), "f32");
        std::string text = substitute(
            R"(
  %scratch = tile.alloc_shared "reduce" at 0 : $scratch
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<$shapexf32>
  %v = tile.load %sx : !tile.slice<$shapexf32> -> $type
  %r = tile.reduce $kind %v axis($axis) $with : $type -> $reduced
  %e = tile.broadcast %r : $reduced -> $type
  %d = arith.addf %v, %e : $type
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<$shapexf32>
  tile.store %d, %sy atom simt : $type, !tile.slice<$shapexf32>)",
            {{"$shape", shapeText(c.shape)},
             {"$with", warps > 1 ? "scratch %scratch : " + scratchType : ""},
             {"$scratch", scratchType},
             {"$type", fragment(c.shape, "f32", c.layout)},
             {"$reduced", fragment(reduced, "f32", layout)},
             {"$kind", kind},
             {"$axis", std::to_string(axis)}});
        runKernels(kernel(text), {&x, &y});
        bool same = true;
        for (int64_t row = 0; row < c.shape[0]; ++row)
          for (int64_t column = 0; column < c.shape[1]; ++column) {
            double expected = 0;
            for (int64_t i = 0; i < c.shape[size_t(axis)]; ++i) {
              double value = axis == 0 ? x.at(i, column) : x.at(row, i);
              expected = i == 0          ? value
                         : kind == "sum" ? expected + value
                         : kind == "max" ? std::max(expected, value)
                                         : std::min(expected, value);
            }
            same &= y.at(row, column) == x.at(row, column) + expected;
          }
        CHECK(same);
      }
}

TEST_CASE("conversions between all pairs of layouts keep every element in its place") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Shape shape = {64, 16};
  std::vector<FragmentLayout> layouts = {
      blockedLayout(shape, 32, 4, 1),  blockedLayout(shape, 32, 4, 0),      wgmmaAccumulator(64, 16, {1, 1}),
      mmaAccumulator(64, 16, {2, 2}),  mmaAccumulator(64, 16, {4, 1}),      mmaOperandA(64, 16, 16, {2, 2}),
      mmaOperandB(64, 16, 16, {4, 1}), FragmentLayout::replicated(shape, 4)};
  std::string element = GENERATE(as<std::string>(), "f32", "bf16");
  for (const FragmentLayout &from : layouts)
    for (const FragmentLayout &to : layouts) {
      if (from == to)
        continue;
      bool narrow = element == "bf16";
      INFO(printLayout(from) << " to " << printLayout(to) << " of " << element);
      ElementType type = narrow ? ElementType::bf16 : ElementType::f32;
      HostTensor x = randomTensor(type, shape, random), y = poisoned(type, shape);
      std::string global = "?x?x" + element;
      bool scratch = planRelayout(from, to, shape).kind == RelayoutKind::throughShared;
      std::string scratchType = shared(SharedLayout::preferred(shape, narrow ? 16 : 32, 1), element);
      std::string text = substitute(R"(
  %scratch = tile.alloc_shared "relayout" at 0 : $scratch
  %sx = tile.slice %X[%c0, %c0] : !tile.global<$global> -> !tile.slice<64x16x$element>
  %v = tile.load %sx : !tile.slice<64x16x$element> -> $from
  %w = tile.convert_layout %v $with : $from -> $to
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<$global> -> !tile.slice<64x16x$element>
  tile.store %w, %sy atom simt : $to, !tile.slice<64x16x$element>)",
                                    {{"$with", scratch ? "scratch %scratch : " + scratchType : ""},
                                     {"$scratch", scratchType},
                                     {"$global", global},
                                     {"$element", element},
                                     {"$from", fragment(shape, element, from)},
                                     {"$to", fragment(shape, element, to)}});
      runKernels(kernel(text, global, global), {&x, &y});
      CHECK(y.values == x.values);
    }
}

TEST_CASE("coordinates, comparisons and selections see each element's own position") {
  for (Case &c : layoutsOfFourWarps()) {
    INFO(c.name);
    HostTensor x = poisoned(ElementType::f32, c.shape), y = poisoned(ElementType::f32, c.shape);
    std::string index = fragment(c.shape, "index", c.layout), f32 = fragment(c.shape, "f32", c.layout);
    std::string text = substitute(R"(
  %c10 = arith.constant 10 : index
  %f0 = arith.constant 0.0 : f32
  %i = tile.coordinates 0 : $index
  %j = tile.coordinates 1 : $index
  %ten = tile.splat %c10 : index -> $index
  %row = arith.muli %i, %ten : $index
  %sum = arith.addi %row, %j : $index
  %low = arith.cmpi ule, %j, %i : $index
  %int = arith.index_cast %sum : $index to $i32
  %f = arith.sitofp %int : $i32 to $f32
  %zero = tile.splat %f0 : f32 -> $f32
  %v = arith.select %low, %f, %zero : $i1, $f32
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<$shapexf32>
  tile.store %v, %sy atom simt : $f32, !tile.slice<$shapexf32>)",
                                  {{"$shape", shapeText(c.shape)},
                                   {"$index", index},
                                   {"$i32", fragment(c.shape, "i32", c.layout)},
                                   {"$i1", fragment(c.shape, "i1", c.layout)},
                                   {"$f32", f32}});
    runKernels(kernel(text), {&x, &y});
    bool same = true;
    for (int64_t row = 0; row < c.shape[0]; ++row)
      for (int64_t column = 0; column < c.shape[1]; ++column)
        same &= y.at(row, column) == (column <= row ? double(10 * row + column) : 0);
    CHECK(same);
  }
}

TEST_CASE("a replicated fragment is added to memory once") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (Case &c : layoutsOfFourWarps()) {
    INFO(c.name);
    HostTensor x = randomTensor(ElementType::f32, c.shape, random),
               y = randomTensor(ElementType::f32, c.shape, random);
    std::vector<double> before = y.values;
    std::string text =
        substitute(R"(
  %one = arith.constant 100.0 : f32
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<$shapexf32>
  %v = tile.load %sx : !tile.slice<$shapexf32> -> $type
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<$shapexf32>
  tile.atomic_add %v, %sy : $type, !tile.slice<$shapexf32>
  %c1 = arith.constant 1 : index
  %first = tile.slice %Y[%c0, %c1] : !tile.global<?x?xf32> -> !tile.slice<1x1xf32>
  tile.atomic_add %one, %first : f32, !tile.slice<1x1xf32>)",
                   {{"$shape", shapeText(c.shape)}, {"$type", fragment(c.shape, "f32", c.layout)}});
    runKernels(kernel(text), {&x, &y});
    before[1] += 100;
    for (size_t i = 0; i < before.size(); ++i)
      before[i] += x.values[i];
    CHECK(y.values == before);
  }
}

TEST_CASE("what a fragment loads it stores, in every layout and beyond the tensor's edge") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (Case &c : layoutsOfFourWarps()) {
    for (bool edge : {false, true}) {
      INFO(c.name << (edge ? ", at the edge" : ""));
      std::vector<int64_t> shape = c.shape;
      if (edge)
        shape = {shape[0] - 1, shape[1] - 3};
      HostTensor x = randomTensor(ElementType::f32, shape, random), y = poisoned(ElementType::f32, shape);
      std::string text =
          substitute(R"(
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<$shapexf32>
  %v = tile.load %sx : !tile.slice<$shapexf32> -> $type
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<$shapexf32>
  tile.store %v, %sy atom simt : $type, !tile.slice<$shapexf32>)",
                     {{"$shape", shapeText(c.shape)}, {"$type", fragment(c.shape, "f32", c.layout)}});
      runKernels(kernel(text), {&x, &y});
      CHECK(y.values == x.values);
    }
  }
}
