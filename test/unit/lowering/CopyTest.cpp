// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies between global and shared memory, by threads and by the TMA, and whole kernels with rings, run on the emulator.
#include "test/unit/lowering/KernelRun.h"

#include "dialects/layout/StockLayouts.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

using namespace tlc;
using namespace tlc::test;

namespace {
/// X to shared memory, shared to shared in another layout, that to Y.
std::string roundTrip(const SharedLayout &first, const SharedLayout &second, const std::string &element,
                      const std::string &atomIn, const std::string &atomOut, int64_t alignment, bool transpose) {
  Shape tile = first.shape;
  Shape slice = transpose ? Shape{tile[1], tile[0]} : tile;
  return substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?x$e> {program.argument = #program.tensor<"X", input, dims[0, 1], alignment = $align>},
    %Y: !tile.global<?x?x$e> {program.argument = #program.tensor<"Y", inout, dims[0, 1], alignment = $align>}) attributes {warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : $first
  %q = tile.alloc_shared "q" at $offset : $second
  %pv = $viewFirst
  %qv = $viewSecond
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<$slicex$e>
  tile.copy %sx, %pv atom $in : !tile.slice<$slicex$e>, $typeFirst
  tile.sync
  tile.copy %p, %q atom simt : $first, $second
  tile.proxy_fence
  tile.sync
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<$slicex$e>
  tile.copy %qv, %sy atom $out : $typeSecond, !tile.slice<$slicex$e>
  tile.return
}
})",
      {{"$align", std::to_string(alignment)},
       {"$offset", std::to_string((first.totalBytes() + 1023) / 1024 * 1024)},
       {"$slice", std::to_string(slice[0]) + "x" + std::to_string(slice[1])},
       {"$viewFirst", "tile.transpose %p : " + shared(first, element) + " -> " + transposedShared(first, element)},
       {"$viewSecond", "tile.transpose %q : " + shared(second, element) + " -> " + transposedShared(second, element)},
       {"%pv atom", transpose ? "%pv atom" : "%p atom"},
       {"%qv, %sy", transpose ? "%qv, %sy" : "%q, %sy"},
       {"$typeFirst", transpose ? transposedShared(first, element) : shared(first, element)},
       {"$typeSecond", transpose ? transposedShared(second, element) : shared(second, element)},
       {"$first", shared(first, element)},
       {"$second", shared(second, element)},
       {"$in", atomIn},
       {"$out", atomOut},
       {"$e", element}});
}
} // namespace

TEST_CASE("copies by threads keep every element in every layout, also at the tensor's edge") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Shape shape = {40, 64};
  std::vector<SharedLayout> layouts = {
      SharedLayout::plain(shape, 16, 1), SharedLayout::plain(shape, 16, 0, 8), SharedLayout::plain(shape, 16, 1, 4),
      SharedLayout::swizzled(shape, 16, 1, Swizzle::bytes128), SharedLayout::swizzled(shape, 16, 1, Swizzle::bytes32)};
  for (size_t i = 0; i < layouts.size(); ++i)
    for (size_t step : {0, 1, 3})
      for (int64_t alignment : {1, 16})
        for (bool transpose : {false, true})
          for (bool edge : {false, true}) {
            const SharedLayout &first = layouts[i], &second = layouts[(i + step) % layouts.size()];
            INFO(printSharedLayout(first) << " to " << printSharedLayout(second) << ", alignment " << alignment
                                          << (transpose ? ", transposed" : "") << (edge ? ", at the edge" : ""));
            std::vector<int64_t> extents = transpose ? Shape{64, 40} : shape;
            if (edge)
              extents = {extents[0] - 3, extents[1] - 1};
            HostTensor x = randomTensor(ElementType::f16, extents, random), y = poisoned(ElementType::f16, extents);
            x.rowPitch = y.rowPitch = alignment == 16 ? 64 : extents[1];
            runKernels(roundTrip(first, second, "f16", "simt", "simt", alignment, transpose), {&x, &y});
            CHECK(y.values == x.values);
          }
}

TEST_CASE("copies by the TMA keep every element in every layout, also at the tensor's edge") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Shape shape = {40, 128};
  for (const SharedLayout &layout :
       {SharedLayout::plain(shape, 32, 1), SharedLayout::swizzled(shape, 32, 1, Swizzle::bytes128),
        SharedLayout::swizzled(shape, 32, 1, Swizzle::bytes64)})
    for (bool edge : {false, true}) {
      INFO(printSharedLayout(layout) << (edge ? ", at the edge" : ""));
      std::vector<int64_t> extents = shape;
      if (edge)
        extents = {37, 121};
      HostTensor x = randomTensor(ElementType::f32, extents, random), y = poisoned(ElementType::f32, extents);
      x.rowPitch = y.rowPitch = 128;
      runKernels(roundTrip(layout, layout, "f32", "tma", "tma", 16, false), {&x, &y});
      CHECK(y.values == x.values);
    }
}

// The copy in the loop waits on one barrier again and again, also where a branch skips it.
TEST_CASE("a synchronous TMA copy in a loop and under a condition waits for its own bytes each time") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  SharedLayout layout = SharedLayout::swizzled({8, 32}, 32, 1, Swizzle::bytes128);
  HostTensor x = randomTensor(ElementType::f32, {56, 32}, random), y = poisoned(ElementType::f32, {56, 32});
  std::string text = substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>},
    %Y: !tile.global<?x32xf32> {program.argument = #program.tensor<"Y", inout, dims[0, -1], alignment = 16>}) attributes {warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %p = tile.alloc_shared "p" at 0 : $shared
  %tiles = arith.ceildivui %m, %c8 : index
  scf.for %i = %c0 to %tiles step %c1 {
    %row = arith.muli %i, %c8 : index
    %third = arith.remui %i, %c3 : index
    %copies = arith.cmpi ne, %third, %c1 : index
    scf.if %copies {
      %sx = tile.slice %X[%row, %c0] : !tile.global<?x32xf32> -> !tile.slice<8x32xf32>
      tile.copy %sx, %p atom tma : !tile.slice<8x32xf32>, $shared
    }
    %v = tile.load %p : $shared -> $type
    %sy = tile.slice %Y[%row, %c0] : !tile.global<?x32xf32> -> !tile.slice<8x32xf32>
    tile.store %v, %sy : $type, !tile.slice<8x32xf32>
    tile.sync
  }
  tile.return
}
})",
      {{"$shared", shared(layout, "f32")}, {"$type", fragment({8, 32}, "f32", blockedLayout({8, 32}, 32, 4, 1))}});
  runKernels(text, {&x, &y});
  for (int64_t row = 0; row < 56; ++row) {
    int64_t source = row / 8 % 3 == 1 ? row - 8 : row; // what the tile before has left
    for (int64_t column = 0; column < 32; ++column)
      CHECK(y.at(row, column) == x.at(source, column));
  }
}
