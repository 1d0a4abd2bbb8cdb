// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ways to memory that do not see each other: of the asynchronous units, by
/// space, to mbarriers, of tensor maps, and of ld.global.nc.
#include "runtime/emulator/math/TensorMap.h"
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

const std::string variables = R"(
    .shared .align 8 .b64 bar; .shared .align 128 .b8 s[1024];
    .reg .b64 %s, %bar, %at; .reg .b32 %warp, %there, %rank;
    mov.b64 %s, s; mov.b64 %bar, bar; mad.wide.u32 %at, %t, 4, %s; shr.u32 %warp, %t, 5; mov.u32 %rank, %cluster_ctarank;
    setp.eq.u32 %p1, %t, 0; setp.eq.u32 %p2, %t, 32;
)";
const std::string init = "@%p1 mbarrier.init.shared.b64 [bar], 1;\n";
const std::string wait = "$wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;\n";
/// By the first thread of the second warp.
const std::string load = R"(
    @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];
)" + wait;

} // namespace

TEST_CASE("copies know an mbarrier after fence.mbarrier_init") {
  const auto kernel = [](const std::string &before, const std::string &after = "") {
    return check({.body = variables + init + before + "bar.sync 0;" + after + load, .threads = 64});
  };
  CHECK(kernel("fence.mbarrier_init.release.cluster;") == "");
  CHECK(kernel("@%p1 fence.mbarrier_init.release.cluster;") == "");
  CHECK(kernel("fence.proxy.async;") == "");
  CHECK(kernel("fence.proxy.async.shared::cta;") == "");
  CHECK(kernel("", "fence.proxy.async;") == "");
  const std::string words =
      "proxy race between the asynchronous use as an mbarrier of shared offset 0 and the "
      "initialisation of an mbarrier by 'mbarrier.init.shared.b64' at PTX line";
  CHECK_THAT(kernel(""),
             Contains(words) && Contains("missing: fence.mbarrier_init after it, by the same thread"));
  // By another thread, or too late for the one that copies.
  CHECK_THAT(kernel("@!%p1 fence.mbarrier_init.release.cluster;"), Contains(words));
  CHECK_THAT(kernel("", "@%p1 fence.mbarrier_init.release.cluster;"), Contains(words));
  CHECK_THAT(kernel("fence.acq_rel.cluster;"), Contains(words));
  CHECK_THAT(kernel("fence.proxy.async.global;"), Contains(words));
}

TEST_CASE("fence.mbarrier_init makes a relaxed meeting of the cluster release mbarriers alone") {
  const auto kernel = [](const std::string &before, const std::string &use) {
    return check({.body = variables + init + "st.shared.b32 [%at], %t;" + before + R"(
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
    cvt.u32.u64 %r90, %bar; xor.b32 %r91, %rank, 1; mapa.shared::cluster.u32 %there, %r90, %r91;
)" + use + "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
                  .blocks = 2,
                  .cluster = 2});
  };
  const std::string arrive = "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%there];",
                    read = "ld.shared::cluster.b32 %r1, [%there+128];";
  CHECK(kernel("@%p1 fence.mbarrier_init.release.cluster;", arrive) == "");
  CHECK(kernel("fence.acq_rel.cluster;", arrive + read) == "");
  CHECK_THAT(kernel("", arrive),
             Contains("race between the use as an mbarrier of shared offset 0 of block rank"));
  CHECK_THAT(kernel("fence.mbarrier_init.release.cluster;", read),
             Contains("race between the read of shared offset"));
}

TEST_CASE("a proxy fence of one space does nothing for another") {
  const auto shared = [](const std::string &fence) {
    return check({.body = variables + "st.shared.b32 [%at], %t;" + fence + R"(
    bar.sync 0; @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 256;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
)",
                  .threads = 64});
  };
  const auto global = [](const std::string &fence) {
    return check({.body = variables + init +
                          "fence.mbarrier_init.release.cluster; st.global.b32 [%mine], %t;" + fence +
                          R"(
    bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%out], 256, [%bar];
)" + wait,
                  .threads = 64});
  };
  for (const char *fence :
       {"fence.proxy.async;", "fence.proxy.async.shared::cta;", "fence.proxy.async.shared::cluster;"})
    CHECK(shared(fence) == "");
  for (const char *fence : {"fence.proxy.async;", "fence.proxy.async.global;"})
    CHECK(global(fence) == "");
  CHECK_THAT(shared("fence.proxy.async.global;"),
             Contains("proxy race between the asynchronous read of shared offset"));
  CHECK_THAT(global("fence.proxy.async.shared::cta;"),
             Contains("proxy race between the asynchronous read of offset 0") &&
                 Contains("missing: fence.proxy.async (or .global) between them"));
}

TEST_CASE("ld.global.nc reads what the launch does not write") {
  const auto kernel = [](const std::string &text) {
    return check({.body = variables + text, .threads = 64});
  };
  const std::string words = "missing: ld.global without .nc, because this launch writes the memory";
  CHECK(kernel("ld.global.nc.b32 %r1, [%in]; st.global.b32 [%mine], %r1;") == "");
  CHECK(kernel("st.global.b32 [%mine], %t; ld.global.b32 %r1, [%mine];") == "");
  CHECK_THAT(kernel("st.global.b32 [%mine], %t; bar.sync 0; ld.global.nc.b32 %r1, [%mine];"),
             Contains("proxy race between the read of offset ") &&
                 Contains("and the write by 'st.global.b32'") && Contains(words));
  // Before it, too: the line may stay in the cache.
  CHECK_THAT(kernel("ld.global.nc.b32 %r1, [%mine]; bar.sync 0; st.global.b32 [%mine], %t;"),
             Contains(words));
}

namespace {

/// The words of a map of 16 words, whose address a kernel has to give.
std::vector<uint32_t> mapWords() {
  EmulatedTensorMap map;
  map.globalAddress = 1 << 20;
  map.element = TensorElement::u32;
  map.rank = 1;
  map.dims = {16};
  map.box = {16};
  REQUIRE(checkTensorMap(map));
  const auto bytes = encodeTensorMap(map);
  std::vector<uint32_t> words(32);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

/// The first warp changes and publishes a map, and a thread of the second one copies by it.
std::string changeMap(const std::string &publish, const std::string &before) {
  return check({.body = variables + init + R"(
    .shared .align 128 .b8 copy[128]; .reg .b64 %map, %copy, %word; .reg .pred %first;
    mov.b64 %map, map; mov.b64 %copy, copy; setp.lt.u32 %first, %t, 32; mad.wide.u32 %word, %t, 4, %copy;
    fence.mbarrier_init.release.cluster; bar.sync 0; @!%first bra $second;
    mad.wide.u32 %d1, %t, 4, %in; ld.global.b32 %r1, [%d1]; st.shared.b32 [%word], %r1; bar.warp.sync -1;
    add.u64 %d2, %in, 1024; @%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%copy], %d2;
    bar.warp.sync -1;
)" + publish + "$second: bar.sync 0;" +
                        before + R"(
    @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64; mov.b32 %r20, 0;
    @%p2 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%map, {%r20}], [%bar];
)" + wait,
                .header = ".visible .global .align 128 .b8 map[128];\n",
                .threads = 64,
                .in = mapWords()});
}

} // namespace

TEST_CASE("a tensor map that the kernel changes is released and acquired") {
  const std::string publish = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu."
                              "sync.aligned [%map], [%copy], 128;";
  const std::string store = "ld.shared.b32 %r2, [%word]; add.u64 %d3, %map, %word; sub.u64 %d3, %d3, %copy; "
                            "st.global.b32 [%d3], %r2;";
  const std::string release = "fence.proxy.tensormap::generic.release.gpu;",
                    acquire = "fence.proxy.tensormap::generic.acquire.gpu [%map], 128;";
  CHECK(changeMap(publish, acquire) == "");
  CHECK(changeMap(publish, "@%p2 " + acquire) == "");
  CHECK(changeMap(store + release, acquire) == "");
  const std::string words = "missing: fence.proxy.tensormap::generic.release after that write, then "
                            "fence.proxy.tensormap::generic.acquire "
                            "of the map before its use";
  CHECK_THAT(changeMap(publish, ""),
             Contains("proxy race between the read of offset 0 of the allocation of 128 bytes") &&
                 Contains("and the write by 'tensormap.cp_fenceproxy") && Contains(words));
  CHECK_THAT(changeMap(store, acquire), Contains(words));
  CHECK_THAT(changeMap(store + release, ""), Contains(words));
  // Of another address, by a thread that does not copy, and fences of other proxies.
  CHECK_THAT(changeMap(publish, "fence.proxy.tensormap::generic.acquire.gpu [%in], 128;"), Contains(words));
  CHECK_THAT(changeMap(publish, "@%p1 " + acquire), Contains(words));
  CHECK_THAT(changeMap(publish + "fence.proxy.async;", "fence.proxy.async;"), Contains(words));
}
