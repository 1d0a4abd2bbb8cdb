// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asynchronous copies: cp.async, bulk, tensor maps, their completion.
#include "runtime/emulator/math/TensorMap.h"
#include "test/unit/emulator/Harness.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

std::vector<uint32_t> counting(size_t count) {
  std::vector<uint32_t> words(count);
  for (size_t i = 0; i < count; ++i)
    words[i] = uint32_t(i + 1000);
  return words;
}

/// Thread 0 prepares `bar` for one arrival.
const std::string prepare = R"(
    .shared .align 8 .b64 bar;
    .shared .align 1024 .b8 s[4096];
    .reg .b64 %s, %bar;
    mov.b64 %s, s; mov.b64 %bar, bar;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
)";
const std::string waitBar = R"(
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;
)";

} // namespace

TEST_CASE("cp.async copies, fills with zeros and completes at the wait") {
  const auto out = output({.body = R"(
    .shared .align 16 .b8 s[1024];
    mov.b64 %d1, s; mad.wide.u32 %d2, %t, 16, %d1; mad.wide.u32 %d3, %t, 16, %in;
    cp.async.cg.shared.global.L2::128B [%d2], [%d3], 16;
    cp.async.commit_group;
    add.s64 %d4, %d2, 512;
    cp.async.ca.shared.global [%d4], [%d3], 8, 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.b32 %r1, [%d2+12];
    ld.shared.b32 %r2, [%d4];
    cp.async.wait_all;
    ld.shared.v2.b32 {%r3, %r4}, [%d4];
    st.global.b32 [%mine], %r1; st.global.b32 [%mine+128], %r2;
    st.global.b32 [%mine+256], %r3; st.global.b32 [%mine+384], %r4;
  )",
                           .in = counting(128)});
  for (unsigned l = 0; l < 32; ++l) {
    CHECK(out[l] == 1000 + 4 * l + 3);
    CHECK(out[32 + l] == 0xFFFFFFFF); // not waited for: still what shared memory is poisoned with
    CHECK(out[64 + l] == 1000 + 4 * l);
    CHECK(out[96 + l] == 0);
  }
}

TEST_CASE("cp.async arrives at an mbarrier") {
  const auto out = output({.body = prepare + R"(
    mad.wide.u32 %d1, %t, 4, %s; mad.wide.u32 %d2, %t, 4, %in;
    cp.async.ca.shared.global [%d1], [%d2], 4;
    cp.async.mbarrier.arrive.shared.b64 [bar];
    @%p1 mbarrier.arrive.shared.b64 _, [bar];
)" + waitBar + "ld.shared.b32 %r1, [%d1]; st.global.b32 [%mine], %r1;",
                           .in = counting(32)});
  CHECK(out[31] == 1031);
}

TEST_CASE("bulk copies to shared memory and back") {
  const auto out = output({.body = prepare + R"(
    @!%p1 bra $skip;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];
  $skip:
)" + waitBar + R"(
    mad.wide.u32 %d1, %t, 4, %s; ld.shared.b32 %r1, [%d1]; add.u32 %r1, %r1, 1; st.shared.b32 [%d1], %r1;
    fence.proxy.async.shared::cta; bar.sync 0;
    @!%p1 bra $end;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 128;
    cp.async.bulk.commit_group;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%s], 128;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
  $end:
)",
                           .in = counting(64)});
  for (unsigned l = 0; l < 32; ++l)
    CHECK(out[l] == 2 * (1001 + l));
}

TEST_CASE("a wait for a bulk copy that has fewer bytes than expected is a deadlock") {
  const std::string message = failure({.body = prepare + R"(
    @!%p1 bra $skip;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];
  $skip:
)" + waitBar,
                                       .in = counting(64)});
  CHECK_THAT(message, Contains("to end phase 0; 0 of 1 arrivals and 256 bytes are pending"));
}

TEST_CASE("bulk copies between blocks, and st.async") {
  const auto out = output({.body = prepare + R"(
    mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
    mapa.shared::cluster.u64 %d1, %s, %r2; mapa.shared::cluster.u64 %d2, %bar, %r2;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 40;
    mad.wide.u32 %d3, %t, 4, %s; add.u32 %r3, %t, %r1; st.shared.b32 [%d3+1024], %r3;
    fence.proxy.async; bar.sync 0;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    @!%p1 bra $skip;
    add.s64 %d4, %s, 1024;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%d1], [%d4], 32, [%d2];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%d1+32], {%r1, %r2}, [%d2];
  $skip:
)" + waitBar + R"(
    ld.shared.b32 %r4, [%s+4]; ld.shared.b32 %r5, [%s+32];
    mad.wide.u32 %d5, %r1, 8, %out; st.global.v2.b32 [%d5], {%r4, %r5};
)",
                           .blocks = 2,
                           .cluster = 2});
  CHECK(out[0] == 2);
  CHECK(out[1] == 1);
  CHECK(out[2] == 1);
  CHECK(out[3] == 0);
}

namespace {

struct TensorRun {
  std::string body;
  uint32_t blocks = 1, cluster = 1;
  uint64_t before = 0; ///< rows that the map of `in` has before it
  bool im2col = false; ///< `in` is two images of 5 pixels with 12 channels, and boxes 8 pixels of 8 channels
};

/// `in` is a 10 x 12 matrix of counting words, `out` 16 x 16 words that start at
/// 7; boxes are 8 x 8 words. %inMap and %outMap are the maps' addresses.
std::pair<std::string, std::vector<uint32_t>> runTensor(const TensorRun &test) {
  std::vector<uint32_t> in = counting(120), out(256, 7);
  const std::string text = fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128]) {{
  .reg .b32 %r<50>; .reg .b64 %d<20>; .reg .b64 %inMap, %outMap; .reg .pred %p<10>; .reg .b32 %t; .reg .b16 %h<4>;
  mov.b64 %inMap, a; cvta.param.u64 %inMap, %inMap; mov.b64 %outMap, b; cvta.param.u64 %outMap, %outMap;
  prefetch.tensormap [%inMap];
  mov.u32 %t, %tid.x;
{}
}}
)",
                                       test.body);
  auto program = loadProgram(text);
  if (!program)
    return {program.error().message, {}};
  const auto map = [](std::vector<uint32_t> &words, uint64_t rows, uint64_t columns, uint64_t before) {
    EmulatedTensorMap map;
    map.globalAddress = reinterpret_cast<uint64_t>(words.data()) - before * columns * 4;
    map.element = TensorElement::u32;
    map.rank = 2;
    map.dims = {columns, before + rows};
    map.strides = {columns * 4};
    map.box = {8, 8};
    REQUIRE(checkTensorMap(map));
    return encodeTensorMap(map);
  };
  std::vector<std::byte> parameters(256);
  auto inMap = map(in, 10, 12, test.before);
  const auto outMap = map(out, 16, 16, 0);
  if (test.im2col) {
    EmulatedTensorMap images = {
        .globalAddress = reinterpret_cast<uint64_t>(in.data()), .element = TensorElement::u32, .rank = 3};
    images.dims = {12, 5, 2};
    images.strides = {48, 240};
    images.box = {8, 1, 1};
    images.im2col = Im2colBox{.lower = {-1}, .upper = {-1}, .pixels = 8};
    REQUIRE(checkTensorMap(images));
    inMap = encodeTensorMap(images);
  }
  std::copy(inMap.begin(), inMap.end(), parameters.begin());
  std::copy(outMap.begin(), outMap.end(), parameters.begin() + 128);
  const MemoryMap memory(
      {{reinterpret_cast<uint64_t>(in.data()), 480}, {reinterpret_cast<uint64_t>(out.data()), 1024}});
  LaunchConfiguration launch;
  launch.entry = "k";
  launch.grid = {test.blocks, 1, 1};
  launch.block = {32, 1, 1};
  launch.cluster = {test.cluster, 1, 1};
  launch.parameters = parameters;
  Machine machine;
  machine.target = findTarget("sm_90a");
  auto done = runGrid(**program, launch, memory, machine);
  return {done ? "" : done.error().message, out};
}

const std::string loadBoxText = R"(
    @!%p1 bra $skip;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    mov.b32 %r1, 4; mov.b32 %r2, 2;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%inMap, {%r1, %r2}], [%bar];
  $skip:
)";

} // namespace

TEST_CASE("tensor copies load a box, store it and reduce into it") {
  const auto [message, out] = runTensor({prepare + loadBoxText + waitBar + R"(
    @!%p1 bra $end;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%outMap, {8, 0}], [%s];
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%outMap, {12, 8}], [%s];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
  $end:
)"});
  CHECK(message == "");
  REQUIRE(out.size() == 256);
  CHECK(out[0 * 16 + 8] == 1000 + 2 * 12 + 4);
  CHECK(out[7 * 16 + 15] == 1000 + 9 * 12 + 11);
  CHECK(out[0] == 7);
  CHECK(out[8 * 16 + 12] == 7 + 1000 + 2 * 12 + 4);
  CHECK(out[8 * 16 + 15] == 7 + 1000 + 2 * 12 + 7);
  CHECK(out[9 * 16 + 0] == 7); // the right half of the box is outside
}

TEST_CASE("a tensor copy in im2col mode goes from one image to the next") {
  const auto load = [](std::string_view mode, std::string_view offsets) {
    return runTensor({.body = prepare +
                              fmt::format(R"(
    @!%p1 bra $skip;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    mov.b16 %h1, 1;
    cp.async.bulk.tensor.3d.shared::cluster.global.{}.mbarrier::complete_tx::bytes [%s], [%inMap, {{4, 2, 0}}], [%bar]{};
  $skip:
)",
                                          mode, offsets) +
                              waitBar + R"(
    @!%p1 bra $end;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%outMap, {0, 0}], [%s];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
  $end:
)",
                      .im2col = true});
  };
  const auto [message, out] = load("im2col", ", {%h1}");
  CHECK(message == "");
  REQUIRE(out.size() == 256);
  // The first taps are at 2, 3, and from -1 to 3 of the second image; each pixel is one further.
  CHECK(out[0 * 16] == 1000 + 3 * 12 + 4);
  CHECK(out[1 * 16 + 7] == 1000 + 4 * 12 + 11);
  CHECK(out[2 * 16] == 1000 + 5 * 12 + 4);
  CHECK(out[6 * 16] == 1000 + 9 * 12 + 4);
  CHECK(out[7 * 16] == 0); // of an image that there is not
  CHECK_THAT(load("tile", "").first,
             Contains("the tensor map is in im2col mode, the instruction in tile mode"));
}

TEST_CASE("a box outside of its tensor is filled if there is memory where the map begins") {
  auto load = [](int row, uint64_t before) {
    return runTensor({.body = prepare +
                              fmt::format(R"(
    @!%p1 bra $skip;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%inMap, {{0, {}}}], [%bar];
  $skip:
)",
                                          row) +
                              waitBar + R"(
    @!%p1 bra $end;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%outMap, {0, 0}], [%s];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
  $end:
)",
                      .before = before});
  };
  const auto [message, out] = load(10, 0);
  CHECK(message == "");
  CHECK(out[0] == 0);
  CHECK(out[7 * 16 + 7] == 0);
  // One row inside, so that the map's own address does not matter.
  const auto [partly, rows] = load(13, 4);
  CHECK(partly == "");
  CHECK(rows[0] == 1000 + 9 * 12);
  CHECK(rows[16] == 0);
  CHECK_THAT(
      load(14, 4).first,
      Contains("the box is completely outside the tensor, so the hardware reads the first bytes at the "
               "address of the tensor map, but there is no memory at 0x"));
}

TEST_CASE("a multicast load reaches every block of its mask") {
  const auto [message, out] = runTensor({prepare + R"(
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mov.u32 %r9, %cluster_ctarank; setp.eq.u32 %p2, %r9, 1; and.pred %p3, %p1, %p2;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    mov.b16 %h1, 3;
    @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%inMap, {0, 0}], [%bar], %h1;
)" + waitBar + R"(
    shl.b32 %r8, %r9, 3;
    @%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%outMap, {%r8, %r8}], [%s];
)",
                                         2, 2});
  CHECK(message == "");
  REQUIRE(out.size() == 256);
  CHECK(out[0] == 1000);
  CHECK(out[8 * 16 + 8] == 1000);
  CHECK(out[8 * 16 + 7] == 7);
}

TEST_CASE("tensor copies that go wrong") {
  CHECK_THAT(runTensor({prepare + R"(
    @%p1 cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%inMap, {0, 0, 0}], [%bar];
)"})
                 .first,
             Contains("the tensor map has 2 dimensions, the instruction 3"));
  CHECK_THAT(runTensor({prepare + R"(
    add.s64 %d1, %s, 4000;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%d1], [%inMap, {0, 0}], [%bar];
)"})
                 .first,
             Contains("out-of-bounds write of 256 bytes at shared offset"));
  CHECK_THAT(runTensor({prepare + R"(
    mov.b16 %h1, 2;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%inMap, {0, 0}], [%bar], %h1;
)"})
                 .first,
             Contains("the multicast mask 0x2 does not fit the cluster of 1 blocks"));
}
