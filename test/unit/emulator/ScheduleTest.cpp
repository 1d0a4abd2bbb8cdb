// SPDX-License-Identifier: Apache-2.0
/// \file
/// Orders of warps, of completions and of blocks: a seed has its own, always the
/// same, and each of them does the whole work.
#include "test/unit/emulator/Harness.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;

namespace {

using Order = std::vector<uint32_t>;

/// The numbers that `which` puts into %r3, in the order in which the warps come to write them.
Order orderOf(std::optional<uint64_t> seed, const std::string &which, uint32_t threads, uint32_t blocks) {
  Order out = output({.body = R"(
    .reg .b64 %next; mov.b64 %next, next;
    and.b32 %r1, %t, 31; setp.ne.u32 %p1, %r1, 0; @%p1 bra $end;
    atom.global.add.u32 %r2, [%next], 1; mad.wide.u32 %d1, %r2, 4, %out;
)" + which + "st.global.b32 [%d1], %r3;\n$end:",
                      .header = ".global .u32 next;\n",
                      .threads = threads,
                      .blocks = blocks,
                      .scheduleSeed = seed});
  out.resize(threads / 32 * blocks);
  return out;
}

Order ascending(uint32_t count) {
  Order order(count);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

/// Whether the order has each number once.
bool isWhole(Order order) {
  std::sort(order.begin(), order.end());
  return order == ascending(uint32_t(order.size()));
}

} // namespace

TEST_CASE("warps come in order, in reverse and at random") {
  const auto warps = [](std::optional<uint64_t> seed) {
    return orderOf(seed, "shr.u32 %r3, %t, 5;", 256, 1);
  };
  CHECK(warps({}) == ascending(8));
  std::set<Order> all;
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    INFO("seed " << seed);
    const Order order = warps(seed);
    CHECK(isWhole(order));
    CHECK(order == warps(seed));
    all.insert(order);
  }
  CHECK(all.size() >= 3);
}

TEST_CASE("blocks start in order, in reverse and at random") {
  const auto blocks = [](std::optional<uint64_t> seed) {
    return orderOf(seed, "mov.u32 %r3, %ctaid.x;", 32, 24);
  };
  CHECK(blocks({}) == ascending(24));
  Order reversed = ascending(24);
  std::reverse(reversed.begin(), reversed.end());
  std::map<Order, unsigned> all;
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    INFO("seed " << seed);
    const Order order = blocks(seed);
    CHECK(isWhole(order));
    CHECK(order == blocks(seed));
    ++all[order];
  }
  CHECK(all[ascending(24)] == 3);
  CHECK(all[reversed] == 3);
  CHECK(all.size() > 3);
}

TEST_CASE("every cluster starts once, of any number") {
  for (uint32_t clusters : {1u, 2u, 3u, 12u, 97u, 1000u})
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const StartOrder order = StartOrder::seeded(seed, clusters);
      Order all;
      for (uint32_t place = 0; place < clusters; ++place)
        all.push_back(order.at(place));
      INFO(clusters << " clusters, seed " << seed);
      CHECK(isWhole(all));
    }
}

TEST_CASE("with some seeds a try_wait gives up before its phase ends") {
  const auto passedAtOnce = [](std::optional<uint64_t> seed) {
    return output({.body = R"(
      .shared .align 8 .b64 bar;
      setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [bar], 1;
      bar.sync 0;
      setp.ge.u32 %p1, %t, 32; @%p1 bra $arrive;
      mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
      selp.b32 %r1, 1, 0, %p2; st.global.b32 [%mine], %r1;
      $wait: @%p2 bra $end; mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; bra $wait;
      $arrive: setp.eq.u32 %p1, %t, 32; @%p1 mbarrier.arrive.shared.b64 _, [bar];
      $end:)",
                   .threads = 64,
                   .scheduleSeed = seed})[0];
  };
  CHECK(passedAtOnce({}) == 1);
  std::set<uint32_t> all;
  for (uint64_t seed = 0; seed < 40; ++seed)
    all.insert(passedAtOnce(seed));
  CHECK(all == std::set<uint32_t>{0, 1});
}

TEST_CASE("some seeds complete copies at once, some as late as can be") {
  // Without a wait the word is there, or what was there before.
  const auto word = [](uint64_t seed) {
    return output({.body = R"(
      .shared .align 8 .b64 bar; .shared .align 128 .b8 s[128]; .reg .b64 %s, %bar; mov.b64 %s, s; mov.b64 %bar, bar;
      mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 16, [%bar];
      mov.b32 %r1, 0;
      $again: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 40; @%p1 bra $again;
      ld.shared.b32 %r2, [%s]; st.global.b32 [%out], %r2;
      $wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $wait;
      ld.shared.b32 %r2, [%s]; st.global.b32 [%out+4], %r2;)",
                   .threads = 1,
                   .in = {7, 7, 7, 7},
                   .scheduleSeed = seed});
  };
  std::set<uint32_t> early;
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    const Order out = word(seed);
    early.insert(out[0]);
    CHECK(out[1] == 7);
  }
  CHECK(early == std::set<uint32_t>{7, 0xFFFFFFFF});
}
