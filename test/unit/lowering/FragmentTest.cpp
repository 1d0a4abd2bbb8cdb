// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments in every layout: loads, stores, reductions, broadcasts, conversions, run on the emulator.
#include "dialects/layout/LayoutText.h"
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
    %Y: !tile.global<$y> {program.argument = #program.tensor<"Y", inout, dims[0, 1]$facts>}) attributes {launch = #program.launch<warps = 4, shared_bytes = 131072>} {
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
  // Every two of layout, axis and kind.
  const std::string kinds[] = {"sum", "max", "min", "product"};
  std::vector<Case> cases = layoutsOfFourWarps();
  for (const Case &c : cases)
    for (int axis : {0, 1})
      for (int half : {0, 1}) {
        const std::string &kind = kinds[size_t(&c - cases.data() + axis + 2 * half) % std::size(kinds)];
        INFO(c.name << ", " << kind << " along axis " << axis);
        HostTensor x = randomTensor(ElementType::f32, c.shape, random),
                   y = poisoned(ElementType::f32, c.shape);
        if (kind == "product") // of which all parts are exact
          for (double &value : x.values)
            value = value < 0 ? -1 : value > 3 ? 2 : 1;
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
              expected = i == 0              ? value
                         : kind == "sum"     ? expected + value
                         : kind == "product" ? expected * value
                         : kind == "max"     ? std::max(expected, value)
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
  auto check = [&](const FragmentLayout &from, const FragmentLayout &to, ElementType type) {
    std::string element(toString(type));
    INFO(printLayout(from) << " to " << printLayout(to) << " of " << element);
    HostTensor x = randomTensor(type, shape, random), y = poisoned(type, shape);
    std::string global = "?x?x" + element;
    bool scratch = planRelayout(from, to, shape).kind == RelayoutKind::throughShared;
    std::string scratchType = shared(SharedLayout::preferred(shape, int(sizeInBytes(type)) * 8, 1), element);
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
  };
  for (size_t i = 0; i < layouts.size(); ++i)
    for (size_t j = 0; j < layouts.size(); ++j) {
      const ElementType types[] = {ElementType::f32, ElementType::bf16, ElementType::f64, ElementType::i8,
                                   ElementType::i64};
      if (i != j)
        check(layouts[i], layouts[j], types[(i + j) % std::size(types)]);
    }
}

// A mask of single bits goes through memory as bytes.
TEST_CASE("masks are converted like numbers") {
  HostTensor x = poisoned(ElementType::f32, {64, 16}), y = poisoned(ElementType::f32, {64, 16});
  FragmentLayout from = wgmmaAccumulator(64, 16, {1, 1});
  for (const FragmentLayout &to :
       {blockedLayout({64, 16}, 32, 4, 1), mmaAccumulator(64, 16, {4, 1}), mmaOperandB(64, 16, 16, {2, 2})}) {
    bool scratch = planRelayout(from, to, {64, 16}).kind == RelayoutKind::throughShared;
    std::string scratchType = shared(SharedLayout::preferred({64, 16}, 8, 1), "i8");
    std::string text = substitute(R"(
  %scratch = tile.alloc_shared "relayout" at 0 : $scratch
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %i = tile.coordinates 0 : $fromindex
  %j = tile.coordinates 1 : $fromindex
  %below = arith.cmpi ult, %j, %i : $fromindex
  %mask = tile.convert_layout %below $with : $fromi1 -> $toi1
  %zero = tile.splat %f0 : f32 -> $tof32
  %one = tile.splat %f1 : f32 -> $tof32
  %v = arith.select %mask, %one, %zero : $toi1, $tof32
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?xf32> -> !tile.slice<64x16xf32>
  tile.store %v, %sy atom simt : $tof32, !tile.slice<64x16xf32>)",
                                  {{"$with", scratch ? "scratch %scratch : " + scratchType : ""},
                                   {"$scratch", scratchType},
                                   {"$fromindex", fragment({64, 16}, "index", from)},
                                   {"$fromi1", fragment({64, 16}, "i1", from)},
                                   {"$toi1", fragment({64, 16}, "i1", to)},
                                   {"$tof32", fragment({64, 16}, "f32", to)}});
    runKernels(kernel(text), {&x, &y});
    bool same = true;
    for (int64_t row = 0; row < 64; ++row)
      for (int64_t column = 0; column < 16; ++column)
        same &= y.at(row, column) == (column < row);
    CHECK(same);
  }
}

// Elements of 16 bits travel two to a register, whatever is computed with them in between.
TEST_CASE("loops carry fragments of every width") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  FragmentLayout layout = blockedLayout({16, 24}, 32, 4, 1);
  for (ElementType element :
       {ElementType::bf16, ElementType::f16, ElementType::f32, ElementType::f64, ElementType::i8}) {
    HostTensor x = randomTensor(element, {16, 24}, random), y = poisoned(element, {16, 24});
    std::string name(toString(element));
    std::string text = substitute(R"(
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<16x24x$e>
  %v = tile.load %sx : !tile.slice<16x24x$e> -> $type
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%part = %v) -> ($type) {
    %next = arith.add$kind %part, %v : $type
    scf.yield %next : $type
  }
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<16x24x$e>
  tile.store %sum, %sy atom simt : $type, !tile.slice<16x24x$e>)",
                                  {{"$type", fragment({16, 24}, name, layout)},
                                   {"$kind", element == ElementType::i8 ? "i" : "f"},
                                   {"$e", name}});
    runKernels(kernel(text, "?x?x" + name, "?x?x" + name), {&x, &y});
    INFO(name);
    for (double &value : x.values)
      value *= 4;
    CHECK(y.values == x.values);
  }
}

TEST_CASE("reductions work on every type of number") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Shape shape = {16, 24};
  FragmentLayout layout = mmaAccumulator(16, 24, {1, 4}); // padded, and warps share the rows
  for (ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f64, ElementType::i8,
                           ElementType::i32, ElementType::i64})
    for (std::string kind : {"sum", "max", "min"}) {
      std::string element(toString(type));
      INFO(kind << " of " << element);
      HostTensor x = randomTensor(type, shape, random), y = poisoned(type, shape);
      std::string scratchType = shared(SharedLayout::plain({16, 4}, int(sizeInBytes(type)) * 8, 1), element);
      std::string text = substitute(R"(
  %scratch = tile.alloc_shared "reduce" at 0 : $scratch
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<16x24x$e>
  %v = tile.load %sx : !tile.slice<16x24x$e> -> $type
  %r = tile.reduce $kind %v axis(1) scratch %scratch : $scratch : $type -> $reduced
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<16x1x$e>
  tile.store %r, %sy atom simt : $reduced, !tile.slice<16x1x$e>)",
                                    {{"$scratch", scratchType},
                                     {"$type", fragment(shape, element, layout)},
                                     {"$reduced", fragment({16, 1}, element, layout.reduced(1))},
                                     {"$kind", kind},
                                     {"$e", element}});
      runKernels(kernel(text, "?x?x" + element, "?x?x" + element), {&x, &y});
      bool same = true;
      for (int64_t row = 0; row < 16; ++row) {
        double expected = x.at(row, 0);
        for (int64_t i = 1; i < 24; ++i) {
          double value = x.at(row, i);
          expected = kind == "sum" ? expected + value
                                   : (kind == "max" ? std::max(expected, value) : std::min(expected, value));
        }
        same &= y.at(row, 0) == expected && y.at(row, 1) == poison;
      }
      CHECK(same);
    }
}

// A shuffle moves 32 bits: an odd number of narrow registers does not fill its words.
TEST_CASE("lanes combine any number of registers") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (int64_t rows : {1, 2, 3, 5, 7}) {
    FragmentLayout layout = *parseLayout("reg(" + std::to_string(rows) + "@0:1) lane(32@1:1) warp(4@*)");
    for (ElementType type : {ElementType::bf16, ElementType::i8, ElementType::f32}) {
      std::string element(toString(type)), extents = std::to_string(rows) + "x";
      INFO(rows << " registers of " << element);
      HostTensor x = randomTensor(type, {rows, 32}, random), y = poisoned(type, {rows, 32});
      runKernels(kernel(substitute(R"(
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<$rows32x$e>
  %v = tile.load %sx : !tile.slice<$rows32x$e> -> $type
  %r = tile.reduce max %v axis(1) : $type -> $reduced
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<$rows1x$e>
  tile.store %r, %sy atom simt : $reduced, !tile.slice<$rows1x$e>)",
                                   {{"$type", fragment({rows, 32}, element, layout)},
                                    {"$reduced", fragment({rows, 1}, element, layout.reduced(1))},
                                    {"$rows", extents},
                                    {"$e", element}}),
                        "?x?x" + element, "?x?x" + element),
                 {&x, &y});
      for (int64_t row = 0; row < rows; ++row) {
        double expected = x.at(row, 0);
        for (int64_t i = 1; i < 32; ++i)
          expected = std::max(expected, x.at(row, i));
        CHECK(y.at(row, 0) == expected);
      }
    }
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
  %f = tile.convert %int : $i32 to $f32
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
  tile.atomic add %v, %sy : $type, !tile.slice<$shapexf32>
  %c1 = arith.constant 1 : index
  %first = tile.slice %Y[%c0, %c1] : !tile.global<?x?xf32> -> !tile.slice<1x1xf32>
  tile.atomic add %one, %first : f32, !tile.slice<1x1xf32>)",
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

TEST_CASE("floats of 8 bits widen exactly and round to the nearest that they have") {
  FragmentLayout bytes = defaultLayout({16, 17}, 8, 4), words = defaultLayout({16, 17}, 32, 4);
  std::string text = substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(
    %X: !tile.global<16x17xf8E4M3FN> {program.argument = #program.tensor<"X", input, dims[-1, -1]>},
    %F: !tile.global<16x17xf32> {program.argument = #program.tensor<"F", inout, dims[-1, -1]>},
    %H: !tile.global<16x17xf16> {program.argument = #program.tensor<"H", inout, dims[-1, -1]>},
    %G: !tile.global<16x17xf32> {program.argument = #program.tensor<"G", input, dims[-1, -1]>},
    %Y: !tile.global<16x17xf8E4M3FN> {program.argument = #program.tensor<"Y", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4, shared_bytes = 131072>} {
  %c0 = arith.constant 0 : index
  %sx = tile.slice %X[%c0, %c0] : !tile.global<16x17xf8E4M3FN> -> !tile.slice<16x17xf8E4M3FN>
  %x = tile.load %sx : !tile.slice<16x17xf8E4M3FN> -> $e
  %f = tile.convert %x : $e to $bf32
  %sf = tile.slice %F[%c0, %c0] : !tile.global<16x17xf32> -> !tile.slice<16x17xf32>
  tile.store %f, %sf atom simt : $bf32, !tile.slice<16x17xf32>
  %h = tile.convert %x : $e to $bf16
  %sh = tile.slice %H[%c0, %c0] : !tile.global<16x17xf16> -> !tile.slice<16x17xf16>
  tile.store %h, %sh atom simt : $bf16, !tile.slice<16x17xf16>
  %sg = tile.slice %G[%c0, %c0] : !tile.global<16x17xf32> -> !tile.slice<16x17xf32>
  %g = tile.load %sg : !tile.slice<16x17xf32> -> $w32
  %t = tile.convert %g saturate : $w32 to $w8
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<16x17xf8E4M3FN> -> !tile.slice<16x17xf8E4M3FN>
  tile.store %t, %sy atom simt : $w8, !tile.slice<16x17xf8E4M3FN>
  tile.return
}
})",
      {{"$e", fragment({16, 17}, "f8E4M3FN", bytes)},
       {"$bf32", fragment({16, 17}, "f32", bytes)},
       {"$bf16", fragment({16, 17}, "f16", bytes)},
       {"$w32", fragment({16, 17}, "f32", words)},
       {"$w8", fragment({16, 17}, "f8E4M3FN", words)}});
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  // The format's numbers: 0 to 7 eighths, times powers of two.
  std::vector<double> numbers;
  for (int exponent = -6; exponent <= 8; ++exponent)
    for (int eighths = 8; eighths < 16; ++eighths)
      numbers.push_back(std::ldexp(eighths, exponent - 3));
  for (int eighths = 0; eighths < 8; ++eighths)
    numbers.push_back(std::ldexp(eighths, -9));
  numbers.erase(std::ranges::find(numbers, 480)); // stands for NaN
  std::ranges::sort(numbers);
  HostTensor x = randomTensor(ElementType::e4m3, {16, 17}, random), f = poisoned(ElementType::f32, {16, 17}),
             h = poisoned(ElementType::f16, {16, 17}), g = randomTensor(ElementType::f32, {16, 17}, random),
             y = poisoned(ElementType::e4m3, {16, 17});
  std::vector<double> rounded;
  std::uniform_real_distribution<double> logarithm(-12, 12);
  for (size_t i = 0; i < x.values.size(); ++i) {
    x.values[i] = (i % 2 ? -1 : 1) * numbers[i % numbers.size()];
    double value = float(std::exp2(logarithm(random)));
    if (i < 4)
      value = std::array{1.0625, 1.1875, 1e9, 0x1p-11}[i]; // ties to even, too large, too small
    auto above = std::ranges::upper_bound(numbers, value);
    double low = *(above - 1), high = above == numbers.end() ? low : *above;
    bool up =
        value - low > high - value || (value - low == high - value && (above - numbers.begin()) % 2 == 0);
    g.values[i] = -value;
    rounded.push_back(-(up ? high : low));
  }
  runKernels(text, {&x, &f, &h, &g, &y});
  CHECK(f.values == x.values);
  CHECK(h.values == x.values);
  CHECK(y.values == rounded);
}
