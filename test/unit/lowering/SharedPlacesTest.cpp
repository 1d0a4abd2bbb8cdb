// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles whose bytes a plan shares although both are alive: the emulator finds them.
#include "test/unit/lowering/KernelRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {

/// Y = the sum of X's tiles, and of the sums so far, both turned over. A role fills slots of "x", which begin
/// at 0; "kept" is used in each round, and "turned" after all of them.
constexpr const char *summed = R"mlir(
#layout = #tile.layout<"reg(4@1:1, 4@0:8) lane(8@1:4, 4@0:1) warp(2@0:4)">
#shared = #tile.shared_layout<"32x32 32b axis 1 panel 32 swizzle 128 pad 0">
module attributes {program.phase = "planned", program.target = #program.target<"sm_90a">} {
  tile.kernel @summed(%m: index {program.argument = #program.dimension<"m">},
      %X: !tile.global<?x32xf32> {program.argument = #program.tensor<"X", input, dims[0, -1], alignment = 16>},
      %Y: !tile.global<32x32xf32> {program.argument = #program.tensor<"Y", output, dims[-1, -1]>})
      attributes {launch = #program.launch<warps = 3, shared_bytes = 20528>} {
    %cst = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %ring = tile.alloc_ring "x" at 20480 : !tile.ring<3>
    %x = tile.alloc_shared "x" at 0 : !tile.shared<3x32x32xf32, #shared>
    %kept = tile.alloc_shared "kept" at $kept : !tile.shared<32x32xf32, #shared>
    %turned = tile.alloc_shared "turned" at $turned : !tile.shared<32x32xf32, #shared>
    %tiles = arith.ceildivsi %m, %c32 : index
    %to = tile.slice %Y[%c0, %c0] : !tile.global<32x32xf32> -> !tile.slice<32x32xf32>
    tile.roles automatic {
      tile.role "load" warps(1) one_thread {
        %first = tile.cursor : !tile.cursor<3>
        %end = scf.for %i = %c0 to %tiles step %c1 iter_args(%at = %first) -> (!tile.cursor<3>) {
          %row = arith.muli %i, %c32 : index
          %from = tile.slice %X[%row, %c0] : !tile.global<?x32xf32> -> !tile.slice<32x32xf32>
          tile.acquire %ring[%at] : !tile.ring<3>
          %slot = tile.slot %x[%at] : !tile.shared<3x32x32xf32, #shared>, !tile.cursor<3> -> !tile.shared<32x32xf32, #shared>
          tile.expect %ring[%at] bytes(4096) : !tile.ring<3>
          tile.copy_async %from, %slot, %ring[%at] : !tile.slice<32x32xf32>, !tile.shared<32x32xf32, #shared>, !tile.ring<3>
          %next = tile.advance %at : !tile.cursor<3>
          scf.yield %next : !tile.cursor<3>
        }
      }
      tile.role "math" warps(2) {
        %first = tile.cursor : !tile.cursor<3>
        %zero = tile.splat %cst : f32 -> tensor<32x32xf32, #layout>
        %turned_back = tile.transpose %turned : !tile.shared<32x32xf32, #shared> -> !tile.shared<32x32xf32, #shared, transposed>
        %kept_back = tile.transpose %kept : !tile.shared<32x32xf32, #shared> -> !tile.shared<32x32xf32, #shared, transposed>
        $before
        %end:3 = scf.for %i = %c0 to %tiles step %c1 iter_args(%sum = %zero, %all = %zero, %at = %first) -> (tensor<32x32xf32, #layout>, tensor<32x32xf32, #layout>, !tile.cursor<3>) {
          tile.await %ring[%at] : !tile.ring<3>
          %slot = tile.slot %x[%at] : !tile.shared<3x32x32xf32, #shared>, !tile.cursor<3> -> !tile.shared<32x32xf32, #shared>
          %new = tile.load %slot : !tile.shared<32x32xf32, #shared> -> tensor<32x32xf32, #layout>
          tile.proxy_fence
          tile.release %ring[%at] after_meeting : !tile.ring<3>
          %next = tile.advance %at : !tile.cursor<3>
          %added = arith.addf %sum, %new : tensor<32x32xf32, #layout>
          tile.sync
          tile.store %added, %kept_back atom simt : tensor<32x32xf32, #layout>, !tile.shared<32x32xf32, #shared, transposed>
          tile.sync
          %back = tile.load %kept : !tile.shared<32x32xf32, #shared> -> tensor<32x32xf32, #layout>
          %all_added = arith.addf %all, %back : tensor<32x32xf32, #layout>
          scf.yield %added, %all_added, %next : tensor<32x32xf32, #layout>, tensor<32x32xf32, #layout>, !tile.cursor<3>
        }
        $meeting
        tile.store %end#0, %turned_back atom simt : tensor<32x32xf32, #layout>, !tile.shared<32x32xf32, #shared, transposed>
        tile.proxy_fence
        tile.sync
        %y = tile.load %turned : !tile.shared<32x32xf32, #shared> -> tensor<32x32xf32, #layout>
        %both = arith.addf %y, %end#1 : tensor<32x32xf32, #layout>
        tile.store %both, %to atom simt : tensor<32x32xf32, #layout>, !tile.slice<32x32xf32>
      }
    }
    tile.return
  }
}
)mlir";

constexpr const char *store = "tile.store %zero, %turned_back atom simt : tensor<32x32xf32, #layout>, "
                              "!tile.shared<32x32xf32, #shared, transposed>";

struct Places {
  std::string kept = "12288", turned = "16384", before = {}, meeting = {};
};

struct Tried {
  std::string errors; ///< of the emulator
  int wrong = 0;      ///< elements, where there are none
};

Tried tried(const Places &places) {
  constexpr int64_t side = 32, m = 300;
  std::mt19937 random(1);
  HostTensor x = randomTensor(ElementType::f32, {m, side}, random),
             y = poisoned(ElementType::f32, {side, side});
  const std::string module = substitute(summed, {{"$kept", places.kept},
                                                 {"$turned", places.turned},
                                                 {"$before", places.before},
                                                 {"$meeting", places.meeting}});
  Tried result = {runErrors(module, {&x, &y})};
  for (int64_t i = 0; i < side && result.errors.empty(); ++i)
    for (int64_t j = 0; j < side; ++j) {
      double sum = 0, all = 0;
      for (int64_t first = 0; first < m; first += side) {
        sum += first + j < m ? x.at(first + j, i) : 0;
        all += sum;
      }
      result.wrong += y.at(i, j) != sum + all;
    }
  return result;
}

} // namespace

TEST_CASE("a tile lies where slots were that its role has read, or another tile", "[lowering]") {
  for (const char *turned : {"16384", "0", "8192", "12288"}) {
    INFO(turned);
    Tried result = tried({.turned = turned, .meeting = "tile.sync"});
    CHECK(result.errors == "");
    CHECK(result.wrong == 0);
  }
}

TEST_CASE("the emulator finds tiles that share bytes while both are alive", "[lowering]") {
  CHECK(tried({.kept = "0"}).errors != "");                    // in the loop that fills the slots
  CHECK(tried({.kept = "8192"}).errors != "");                 // of one slot
  CHECK(tried({.turned = "0", .before = store}).errors != ""); // before: the role that loads is ahead
  CHECK(tried({.turned = "12288"}).errors != "");              // without a meeting after "kept"
}
