// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles, rings, barriers, clusters, run on the emulator.
#include "dialects/layout/StockLayouts.h"
#include "test/unit/lowering/KernelRun.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

using namespace tlc;
using namespace tlc::test;

namespace {
std::string read(const std::string &path) {
  std::ifstream file(std::string(TLC_SOURCE_DIR) + "/" + path);
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// C = A * Bᵀ of integers, rounded to bf16.
void checkProduct(HostTensor &a, HostTensor &b, HostTensor &c) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.shape[1]; ++k)
        sum += a.at(i, k) * b.at(j, k);
      // Integers up to 256 are exact in bf16; above, half a unit of 8 bits may be lost.
      wrong += std::abs(c.at(i, j) - sum) > std::abs(sum) / 256;
    }
  CHECK(wrong == 0);
}
} // namespace

// Trip counts of 1, few and many; more tiles than blocks; rows, columns and k cut off by the tensor's edge.
TEST_CASE("a specialised persistent GEMM computes every tile") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  std::string module = read("test/lit/lowering/tile_to_simt_gemm.mlir");
  for (Shape mnk : {Shape{128, 256, 64}, Shape{200, 264, 136}, Shape{130, 259, 72}, Shape{640, 512, 72},
                    Shape{128, 256, 640}}) {
    INFO(mnk[0] << " x " << mnk[1] << " x " << mnk[2]);
    HostTensor a = randomTensor(ElementType::bf16, {mnk[0], mnk[2]}, random);
    HostTensor b = randomTensor(ElementType::bf16, {mnk[1], mnk[2]}, random);
    HostTensor c = poisoned(ElementType::bf16, {mnk[0], mnk[1]});
    c.rowPitch = (mnk[1] + 7) / 8 * 8; // what lies beyond a row's end stays
    runKernels(module, {&a, &b, &c});
    checkProduct(a, b, c);
  }
}

// Blocks share B's tiles by multicast: the slots of both are refilled when both are done with them.
TEST_CASE("the blocks of a cluster load shares of a tile for each other") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  std::string module = read("test/lit/lowering/tile_to_simt_cluster.mlir");
  for (Shape mnk : {Shape{128, 64, 64}, Shape{300, 100, 520}}) {
    INFO(mnk[0] << " x " << mnk[1] << " x " << mnk[2]);
    HostTensor a = randomTensor(ElementType::bf16, {mnk[0], mnk[2]}, random);
    HostTensor b = randomTensor(ElementType::bf16, {mnk[1], mnk[2]}, random);
    HostTensor c = poisoned(ElementType::bf16, {mnk[0], mnk[1]});
    runKernels(module, {&a, &b, &c});
    checkProduct(a, b, c);
  }
}

// The plan that `tile-assign-roles` makes for a kernel with `store_role`: the math role hands its tiles to a
// role that stores.
TEST_CASE("a planned role stores the tiles of a GEMM") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  std::string slots = GENERATE("1", "2");
  std::string text = substitute(R"(
#plan = #tile.role_plan<roles = [<"load", warps = 2>, <"store", warps = 2>, <"math", warps = 8>],
  channels = [<"a.b", from = "load", to = "math", slots = 2>, <"c", from = "math", to = "store", slots = $slots>]>
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @gemm(%m: index {program.argument = #program.dimension<"m">}, %k: index {program.argument = #program.dimension<"k">},
    %A: !tile.global<?x?xbf16> {program.argument = #program.tensor<"A", input, dims[0, 1], alignment = 16>},
    %B: !tile.global<128x?xbf16> {program.argument = #program.tensor<"B", input, dims[-1, 1], alignment = 16>},
    %C: !tile.global<?x128xbf16> {program.argument = #program.tensor<"C", output, dims[0, -1], alignment = 16>})
    attributes {launch = #program.launch<warps = 8>, tile.role_plan = #plan} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<128x64xbf16>
  %c = tile.alloc_shared "c" : !tile.shared<128x128xbf16>
  %bt = tile.transpose %b : !tile.shared<128x64xbf16> -> !tile.shared<64x128xbf16, transposed>
  %rows = arith.ceildivui %m, %c128 : index
  %steps = arith.ceildivui %k, %c64 : index
  scf.for %t = %c0 to %rows step %c1 {
    %row = arith.muli %t, %c128 : index
    %zero = tile.splat %f0 {tile.role = "math"} : f32 -> tensor<128x128xf32>
    %sum = scf.for %s = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      %at = arith.muli %s, %c64 : index
      %sa = tile.slice %A[%row, %at] : !tile.global<?x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sa, %a atom tma {tile.channel = "a.b", tile.role = "load"} : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %sb = tile.slice %B[%c0, %at] : !tile.global<128x?xbf16> -> !tile.slice<128x64xbf16>
      tile.copy %sb, %b atom tma {tile.channel = "a.b", tile.role = "load"} : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>
      %new = tile.gemm %a, %bt, %acc atom wgmma {tile.role = "math"} : !tile.shared<128x64xbf16>, !tile.shared<64x128xbf16, transposed>, tensor<128x128xf32>
      scf.yield %new : tensor<128x128xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %h = tile.convert %sum {tile.role = "math"} : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %h, %c atom simt {tile.channel = "c", tile.role = "math"} : tensor<128x128xbf16>, !tile.shared<128x128xbf16>
    %sc = tile.slice %C[%row, %c0] : !tile.global<?x128xbf16> -> !tile.slice<128x128xbf16>
    tile.copy %c, %sc atom tma {tile.role = "store"} : !tile.shared<128x128xbf16>, !tile.slice<128x128xbf16>
  }
  tile.return
}
})",
                                {{"$slots", slots}});
  CompileOptions options;
  options.startFrom = Phase::atoms;
  for (auto [m, k] : {std::pair<int64_t, int64_t>(128, 64), {100, 8}, {700, 200}, {520, 64}}) {
    INFO(m << " rows, " << k << " columns, " << slots << " slots");
    HostTensor a = randomTensor(ElementType::bf16, {m, k}, random);
    HostTensor b = randomTensor(ElementType::bf16, {128, k}, random);
    HostTensor c = poisoned(ElementType::bf16, {m, 128});
    runKernels(text, {&a, &b, &c}, options);
    checkProduct(a, b, c);
  }
}

// Attention's tensors have batches and heads around the axes of a tile, and rows of numbers beside them.
TEST_CASE("the TMA loads tiles of tensors with more axes than the tile, and rows of one axis") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  HostTensor x = randomTensor(ElementType::f16, {2, 50, 3, 64}, random);
  HostTensor l = randomTensor(ElementType::f32, {2, 3, 52}, random);
  HostTensor y = poisoned(ElementType::f32, {32, 64});
  SharedLayout tile = SharedLayout::swizzled({32, 64}, 16, 1, Swizzle::bytes128);
  SharedLayout row = SharedLayout::plain({32}, 32, 0);
  FragmentLayout fits = blockedLayout({32, 64}, 32, 4, 1);
  FragmentLayout column = fits.reduced(1);
  std::string text = substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(
    %X: !tile.global<2x50x3x64xf16> {program.argument = #program.tensor<"X", input, dims[-1, -1, -1, -1], alignment = 16>},
    %L: !tile.global<2x3x52xf32> {program.argument = #program.tensor<"L", input, dims[-1, -1, -1], alignment = 16>},
    %Y: !tile.global<32x64xf32> {program.argument = #program.tensor<"Y", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8, shared_bytes = 131072>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c28 = arith.constant 28 : index
  %r = tile.alloc_ring "r" at 0 : !tile.ring<1>
  %p = tile.alloc_shared "p" at 1024 : $tile
  %q = tile.alloc_shared "q" at 128 : $row
  %c = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "load" warps(4) {
      tile.acquire %r[%c] : !tile.ring<1>
      tile.expect %r[%c] bytes(4224) : !tile.ring<1>
      %sx = tile.slice %X[%c1, %c28, %c2, %c0] : !tile.global<2x50x3x64xf16> -> !tile.slice<1x32x1x64xf16>
      tile.copy_async %sx, %p, %r[%c] : !tile.slice<1x32x1x64xf16>, $tile, !tile.ring<1>
      %sl = tile.slice %L[%c1, %c2, %c28] : !tile.global<2x3x52xf32> -> !tile.slice<1x1x32xf32>
      tile.copy_async %sl, %q, %r[%c] : !tile.slice<1x1x32xf32>, $row, !tile.ring<1>
    }
    tile.role "math" warps(4) {
      tile.await %r[%c] : !tile.ring<1>
      %v = tile.load %p : $tile -> $half
      %f = tile.convert %v : $half to $full
      %w = tile.load %q : $row -> $column
      %e = tile.broadcast %w : $column -> $full
      %s = arith.addf %f, %e : $full
      %sy = tile.slice %Y[%c0, %c0] : !tile.global<32x64xf32> -> !tile.slice<32x64xf32>
      tile.store %s, %sy atom simt : $full, !tile.slice<32x64xf32>
    }
  }
  tile.return
}
})",
      {{"$tile", shared(tile, "f16")},
       {"$row", shared(row, "f32")},
       {"$half", fragment({32, 64}, "f16", fits)},
       {"$full", fragment({32, 64}, "f32", fits)},
       {"$column", fragment({32, 1}, "f32", column)}});
  runKernels(text, {&x, &l, &y});
  bool same = true;
  for (int64_t i = 0; i < 32; ++i)
    for (int64_t j = 0; j < 64; ++j) {
      bool inX = 28 + i < 50, inL = 28 + i < 52; // beyond its end a tensor reads as 0
      double expected = (inX ? x.values[size_t(((50 + 28 + i) * 3 + 2) * 64 + j)] : 0) +
                        (inL ? l.values[size_t((3 + 2) * 52 + 28 + i)] : 0);
      same &= y.at(i, j) == expected;
    }
  CHECK(same);
}

// A role fills a ring with ordinary stores, another one empties it with ordinary loads.
TEST_CASE("slots written by threads are published whole and released when all have read") {
  std::mt19937 random(GENERATE(take(1, Catch::Generators::random(0, 1 << 30))));
  int warps = GENERATE(1, 4, 8);
  SharedLayout layout = SharedLayout::plain({16, 32}, 32, 1);
  int groups = warps == 8 ? 2 : 1;
  HostTensor x = randomTensor(ElementType::f32, {160, 32}, random), y = poisoned(ElementType::f32, {160, 32});
  std::string text = substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%m: index {program.argument = #program.dimension<"m">},
    %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", input, dims[0, -1]>},
    %Y: !tile.global<?x32xf32> {program.argument = #program.tensor<"Y", inout, dims[0, -1]>}) attributes {launch = #program.launch<warps = $all, shared_bytes = 131072>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %ring = tile.alloc_ring "r" at 0 : !tile.ring<3>
  %p = tile.alloc_shared "p" at 1024 : $slots
  %tiles = arith.ceildivui %m, %c16 : index
  tile.roles {
    tile.role "fill" warps($warps) {
      %start = tile.cursor : !tile.cursor<3>
      %end = scf.for %i = %c0 to %tiles step %c1 iter_args(%at = %start) -> (!tile.cursor<3>) {
        %row = arith.muli %i, %c16 : index
        %sx = tile.slice %X[%row, %c0] : !tile.global<?x32xf32> -> !tile.slice<16x32xf32>
        %v = tile.load %sx : !tile.slice<16x32xf32> -> $type
        tile.acquire %ring[%at] : !tile.ring<3>
        %slot = tile.slot %p[%at] : $slots, !tile.cursor<3> -> $slot
        tile.store %v, %slot atom simt : $type, $slot
        tile.publish %ring[%at] : !tile.ring<3>
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %next : !tile.cursor<3>
      }
    }
    tile.role "empty" warps($warps) {
      %start = tile.cursor : !tile.cursor<3>
      %end = scf.for %i = %c0 to %tiles step %c1 iter_args(%at = %start) -> (!tile.cursor<3>) {
        %row = arith.muli %i, %c16 : index
        tile.await %ring[%at] : !tile.ring<3>
        %slot = tile.slot %p[%at] : $slots, !tile.cursor<3> -> $slot
        %v = tile.load %slot : $slot -> $other
        tile.release %ring[%at] after_meeting : !tile.ring<3>
        %sy = tile.slice %Y[%row, %c0] : !tile.global<?x32xf32> -> !tile.slice<16x32xf32>
        tile.store %v, %sy atom simt : $other, !tile.slice<16x32xf32>
        %next = tile.advance %at : !tile.cursor<3>
        scf.yield %next : !tile.cursor<3>
      }
    }
  }
  tile.return
}
})",
      {{"$all", std::to_string(2 * warps)},
       {"$groups", std::to_string(groups)},
       {"$warps", std::to_string(warps)},
       {"$slots", shared(layout, "f32", 3)},
       {"$slot", shared(layout, "f32")},
       {"$type", fragment({16, 32}, "f32", blockedLayout({16, 32}, 32, warps, 1))},
       {"$other", fragment({16, 32}, "f32", blockedLayout({16, 32}, 32, warps, 0))}});
  runKernels(text, {&x, &y});
  CHECK(y.values == x.values);
}

TEST_CASE("roles take turns through barriers and named barriers, and meet before what follows") {
  HostTensor y = poisoned(ElementType::f32, {2, 32});
  SharedLayout layout = SharedLayout::plain({1, 32}, 32, 1);
  std::string text = substitute(
      R"(module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @test(%Y: !tile.global<2x32xf32> {program.argument = #program.tensor<"Y", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 2, shared_bytes = 131072>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %barrier = tile.alloc_barrier "turn" count(32) at 0
  %p = tile.alloc_shared "p" at 128 : $shared
  %q = tile.alloc_shared "q" at 256 : $shared
  tile.roles {
    tile.role "first" warps(1) {
      %v = tile.splat %one : f32 -> $type
      tile.store %v, %p atom simt : $type, $shared
      tile.arrive %barrier
      tile.named_barrier 3 warps(2)
      %w = tile.load %q : $shared -> $type
      tile.store %w, %p atom simt : $type, $shared
    }
    tile.role "second" warps(1) {
      tile.wait %barrier phase(%c0)
      %v = tile.load %p : $shared -> $type
      %t = tile.splat %two : f32 -> $type
      %s = arith.addf %v, %t : $type
      tile.store %s, %q atom simt : $type, $shared
      tile.named_barrier 3 warps(2)
    }
  }
  %r = tile.load %p : $shared -> $both
  %sy = tile.slice %Y[%c1, %c0] : !tile.global<2x32xf32> -> !tile.slice<1x32xf32>
  tile.store %r, %sy atom simt : $both, !tile.slice<1x32xf32>
  tile.return
}
})",
      {{"$shared", shared(layout, "f32")},
       {"$type", fragment({1, 32}, "f32", blockedLayout({1, 32}, 32, 1, 1))},
       {"$both", fragment({1, 32}, "f32", blockedLayout({1, 32}, 32, 2, 1))}});
  runKernels(text, {&y});
  for (int64_t column = 0; column < 32; ++column) {
    CHECK(y.at(0, column) == poison);
    CHECK(y.at(1, column) == 3);
  }
}
