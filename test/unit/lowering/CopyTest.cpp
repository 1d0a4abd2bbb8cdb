// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies between global and shared memory, run on the emulator.
#include "dialects/layout/StockLayouts.h"
#include "test/unit/lowering/KernelRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {
/// X to shared memory, shared to shared in another layout, that to Y.
std::string roundTrip(const SharedLayout &first, const SharedLayout &second, const std::string &element,
                      int64_t alignment, bool transpose, int64_t warps = 4) {
  Shape tile = first.shape();
  Shape slice = transpose ? Shape{tile[1], tile[0]} : tile;
  return substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%m: index {program.argument = #program.dimension<"m">}, %n: index {program.argument = #program.dimension<"n">},
    %X: !tile.global<?x?x$e> {program.argument = #program.tensor<"X", input, dims[0, 1], alignment = $align>},
    %Y: !tile.global<?x?x$e> {program.argument = #program.tensor<"Y", inout, dims[0, 1], alignment = $align>}) attributes {launch = #program.launch<warps = $warps, shared_bytes = 131072>} {
  %c0 = arith.constant 0 : index
  %p = tile.alloc_shared "p" at 0 : $first
  %q = tile.alloc_shared "q" at $offset : $second
  %pv = $viewFirst
  %qv = $viewSecond
  %sx = tile.slice %X[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<$slicex$e>
  tile.copy %sx, %pv atom simt : !tile.slice<$slicex$e>, $typeFirst
  tile.sync
  tile.copy %p, %q atom simt : $first, $second
  tile.proxy_fence
  tile.sync
  %sy = tile.slice %Y[%c0, %c0] : !tile.global<?x?x$e> -> !tile.slice<$slicex$e>
  tile.copy %qv, %sy atom simt : $typeSecond, !tile.slice<$slicex$e>
  tile.return
}
})",
      {{"$align", std::to_string(alignment)},
       {"$warps", std::to_string(warps)},
       {"$offset", std::to_string((first.totalBytes() + 1023) / 1024 * 1024)},
       {"$slice", std::to_string(slice[0]) + "x" + std::to_string(slice[1])},
       {"$viewFirst",
        "tile.transpose %p : " + shared(first, element) + " -> " + transposedShared(first, element)},
       {"$viewSecond",
        "tile.transpose %q : " + shared(second, element) + " -> " + transposedShared(second, element)},
       {"%pv atom", transpose ? "%pv atom" : "%p atom"},
       {"%qv, %sy", transpose ? "%qv, %sy" : "%q, %sy"},
       {"$typeFirst", transpose ? transposedShared(first, element) : shared(first, element)},
       {"$typeSecond", transpose ? transposedShared(second, element) : shared(second, element)},
       {"$first", shared(first, element)},
       {"$second", shared(second, element)},
       {"$e", element}});
}
} // namespace

TEST_CASE("copies by threads keep every element in every layout, also at the tensor's edge") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  Shape shape = {40, 64};
  std::vector<SharedLayout> layouts = {
      SharedLayout::plain(shape, 16, 1), SharedLayout::plain(shape, 16, 0, 8),
      SharedLayout::plain(shape, 16, 1, 4), SharedLayout::swizzled(shape, 16, 1, Swizzle::bytes128),
      SharedLayout::swizzled(shape, 16, 1, Swizzle::bytes32)};
  for (size_t i = 0; i < layouts.size(); ++i)
    for (size_t step : {0, 1, 3})
      for (int64_t alignment : {1, 16})
        for (bool transpose : {false, true})
          for (bool edge : {false, true}) {
            const SharedLayout &first = layouts[i], &second = layouts[(i + step) % layouts.size()];
            INFO(printSharedLayout(first)
                 << " to " << printSharedLayout(second) << ", alignment " << alignment
                 << (transpose ? ", transposed" : "") << (edge ? ", at the edge" : ""));
            std::vector<int64_t> extents = transpose ? Shape{64, 40} : shape;
            if (edge)
              extents = {extents[0] - 3, extents[1] - 1};
            HostTensor x = randomTensor(ElementType::f16, extents, random),
                       y = poisoned(ElementType::f16, extents);
            x.rowPitch = y.rowPitch = alignment == 16 ? 64 : extents[1];
            runKernels(roundTrip(first, second, "f16", alignment, transpose), {&x, &y});
            CHECK(y.values == x.values);
          }
}

// Any number of warps shares them: they may divide the tile's rows, its columns or neither.
namespace {
const Shape shapesOfBytes[] = {{128, 64}, {48, 96}, {32, 40}};
constexpr int64_t warpsOfBytes[] = {1, 3, 4};
constexpr Swizzle swizzlesOfBytes[] = {Swizzle::bytes128, Swizzle::bytes64, Swizzle::bytes32, Swizzle::none};

void checkTransposed(const Shape &shape, int64_t warps, const RowOrder &order, Swizzle swizzle,
                     std::mt19937 &random) {
  SharedLayout first = SharedLayout::preferred(shape, 8, 1),
               second = *SharedLayout::swizzled(shape, 8, 0, swizzle).withOrder(order);
  INFO(printSharedLayout(first) << " to " << printSharedLayout(second) << ", " << warps << " warps");
  HostTensor x = randomTensor(ElementType::e4m3, shape, random), y = poisoned(ElementType::e4m3, shape);
  runKernels(roundTrip(first, second, "f8E4M3FN", 1, /*transpose=*/false, warps), {&x, &y});
  CHECK(y.values == x.values);
}
} // namespace

TEST_CASE("tiles of bytes are transposed on their way, in either order") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  // Every number of warps for every shape, and every order and swizzle for both.
  for (size_t shape = 0; shape != std::size(shapesOfBytes); ++shape)
    for (size_t warps = 0; warps != std::size(warpsOfBytes); ++warps)
      for (size_t half : {0, 1}) {
        const size_t swizzle = (shape + warps + 2 * half) % std::size(swizzlesOfBytes);
        const bool isInterleaved = (shape + half) % 2 == 1;
        checkTransposed(shapesOfBytes[shape], warpsOfBytes[warps],
                        isInterleaved ? interleavedRows() : RowOrder(), swizzlesOfBytes[swizzle], random);
      }
}

// Of tools/test.sh long.
TEST_CASE("tiles of bytes of every shape and swizzle are transposed by any number of warps", "[.long]") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (const Shape &shape : shapesOfBytes)
    for (int64_t warps : warpsOfBytes)
      for (const RowOrder &order : {RowOrder(), interleavedRows()})
        for (Swizzle swizzle : swizzlesOfBytes)
          checkTransposed(shape, warps, order, swizzle, random);
}

// A panel is written again only when its last store has read it; where the TMA may not store, threads do.
TEST_CASE("fragments leave through any number of staging panels, from any column") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  for (int64_t buffers : {1, 2, 3, 4, 6})
    for (int64_t columns : {256, 192})
      for (int64_t origin : {0, 3}) {
        INFO(buffers << " panels, " << columns << " columns, from column " << origin);
        HostTensor x = randomTensor(ElementType::bf16, {600, 264}, random);
        HostTensor y = poisoned(ElementType::bf16, {600, 264});
        FragmentLayout layout = wgmmaAccumulator(128, columns, {2, 1});
        SharedLayout staging = SharedLayout::swizzled({2, buffers, 64, 64}, 16, 3, Swizzle::bytes128);
        std::string text = substitute(
            R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(
    %X: !tile.global<600x264xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1], alignment = 16>},
    %Y: !tile.global<600x264xbf16> {program.argument = #program.tensor<"Y", inout, dims[-1, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8, shared_bytes = 131072>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c128 = arith.constant 128 : index
  %from = arith.constant $origin : index
  %g = tile.alloc_shared "Y.staging" at 0 : $staging
  scf.for %i = %c0 to %c5 step %c1 {
    %row = arith.muli %i, %c128 : index
    %sx = tile.slice %X[%row, %from] : !tile.global<600x264xbf16> -> !tile.slice<128x$nxbf16>
    %v = tile.load %sx : !tile.slice<128x$nxbf16> -> $type
    %sy = tile.slice %Y[%row, %from] : !tile.global<600x264xbf16> -> !tile.slice<128x$nxbf16>
    tile.store %v, %sy staging %g : $staging atom tma : $type, !tile.slice<128x$nxbf16>
  }
  tile.await_stores
  tile.return
}
})",
            {{"$origin", std::to_string(origin)},
             {"$staging", shared(staging, "bf16")},
             {"$type", fragment({128, columns}, "bf16", layout)},
             {"$n", std::to_string(columns)}});
        runKernels(text, {&x, &y});
        bool same = true;
        for (int64_t row = 0; row < 600; ++row)
          for (int64_t column = 0; column < 264; ++column) {
            bool stored = column >= origin && column < origin + columns;
            same &= y.at(row, column) == (stored ? x.at(row, column) : poison);
          }
        CHECK(same);
      }
}
