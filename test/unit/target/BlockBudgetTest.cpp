// SPDX-License-Identifier: Apache-2.0
/// \file
/// What fits into a block: shared memory, registers by role, tensor memory.
#include "runtime/target/BlockBudget.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace tlc;

namespace {
const Target &hopper() { return *findTarget("sm_90a"); }
const Target &blackwell() { return *findTarget("sm_100a"); }
constexpr int64_t kib = 1024;
} // namespace

TEST_CASE("objects in shared memory lie one after the other", "[target][budget]") {
  BlockBudget block(hopper());
  CHECK(block.sharedLimit() == 227 * kib);
  CHECK(block.addBuffer({100}) == 0);
  CHECK(block.addBarrier() == 104);
  CHECK(block.addBuffer({1500}, 3) == 1024); // slots are 2048 apart
  CHECK(block.sharedUsed() == 7 * kib);
  CHECK(block.addBuffer({40, 128}, 2) == 7 * kib);
  CHECK(block.addRing(4) == 7 * kib + 256);
  CHECK(block.sharedUsed() == 7 * kib + 256 + 64);
  CHECK(block.sharedFree() == 220 * kib - 320);
  CHECK(block.fits());
}

TEST_CASE("a tile is aligned for the swizzle that its rows fill", "[target][budget]") {
  auto alignment = [](int64_t rowBytes) { return SharedBytes::tile(64, rowBytes).alignment; };
  CHECK(alignment(128) == swizzleAlignment);
  CHECK(alignment(384) == 1024);
  CHECK(alignment(192) == 512);
  CHECK(alignment(96) == 256);
  CHECK(alignment(80) == 128);
  CHECK(SharedBytes::tile(64, 80).bytes == 5120);
  CHECK(BlockBudget::slotBytes({SharedBytes::tile(9, 80), SharedBytes::tile(9, 192)}) == 768 + 2048 + 16);
}

TEST_CASE("a block may have no more than its share of the multiprocessor", "[target][budget]") {
  for (const Target &target : allTargets())
    for (int64_t residents = 1; residents <= 4; ++residents) {
      BlockBudget block(target, residents);
      REQUIRE(block.sharedLimit() == target.sharedBytesOfBlock(unsigned(residents)));
      block.addBuffer({block.sharedLimit()});
      CHECK(block.fits());
      CHECK(block.sharedFree() == 0);
      block.addBarrier();
      CHECK_FALSE(block.fits());
      CHECK(block.sharedFree() < 0);
    }
}

TEST_CASE("as many slots as shared memory holds", "[target][budget]") {
  int64_t slot = BlockBudget::slotBytes({{16 * kib}, {32 * kib}});
  CHECK(slot == 48 * kib + 16); // a full and an empty mbarrier
  CHECK(BlockBudget::slotBytes({{1}, {1025}}) == 3 * kib + 16);
  BlockBudget block(hopper());
  CHECK(block.slotsThatFit(slot) == 4);
  block.addBuffer({32 * kib});
  CHECK(block.slotsThatFit(slot) == 4);
  block.addBuffer({4 * kib});
  CHECK(block.slotsThatFit(slot) == 3);
  block.addBuffer({300 * kib});
  CHECK(block.slotsThatFit(slot) == 0);
}

TEST_CASE("slots that fit do fit once they are added", "[target][budget]") {
  for (const Target &target : allTargets())
    for (int64_t fixed : {0, 1, 1024, 16384, 50000})
      for (int64_t a = 512; a <= 64 * kib; a = a * 3 / 2)
        for (int64_t b = 512; b <= 64 * kib; b = b * 3 / 2) {
          BlockBudget block(target);
          block.addBuffer({fixed});
          int64_t slots = block.slotsThatFit(BlockBudget::slotBytes({{a}, {b}}));
          auto with = [&](int64_t count) {
            BlockBudget filled = block;
            filled.addBuffer({a}, count);
            filled.addBuffer({b}, count);
            filled.addRing(count);
            return filled.fits();
          };
          if (slots > 0)
            REQUIRE(with(slots));
          // With one slot, the last buffer need not be filled up.
          if (slots > 1)
            REQUIRE_FALSE(with(slots + 1));
        }
}

TEST_CASE("scratch memory is left free", "[target][budget]") {
  BlockBudget block(hopper());
  block.reserveScratch();
  CHECK(block.sharedFree() == 226 * kib);
  CHECK(block.addBuffer({1}) == kib);
}

TEST_CASE("roles share the registers of the launch", "[target][budget]") {
  BlockBudget block(hopper());
  auto beside = [&](int64_t spare, int64_t warpgroups) {
    const RoleRegisters set[] = {{4, spare}};
    return block.registersBeside(set, 4 * (warpgroups + 1));
  };
  CHECK(beside(24, 1) == 240); // more than any role gets
  CHECK(beside(24, 2) == 240);
  CHECK(beside(32, 2) == 232);
  CHECK(beside(40, 2) == 232);
  CHECK(beside(24, 3) == 160);
  CHECK(beside(32, 3) == 160);
  CHECK(beside(40, 3) == 152);
  CHECK(beside(32, 7) == 64);
  CHECK(block.registersAtLaunch(12) == 168);
  CHECK(BlockBudget(hopper(), 2).registersAtLaunch(8) == 128);
}

TEST_CASE("what is left for a role fits, and a step more does not", "[target][budget]") {
  for (const Target *target : {&hopper(), &blackwell()})
    for (int64_t residents : {1, 2, 3})
      for (int64_t warpgroups = 1; warpgroups <= 6; ++warpgroups)
        for (int64_t spare = target->setmaxnreg.min; spare <= 64; spare += target->setmaxnreg.step) {
          BlockBudget block(*target, residents);
          const RoleRegisters set[] = {{4, spare}};
          std::optional<int64_t> others = block.registersBeside(set, 4 * (warpgroups + 1));
          if (!others)
            continue;
          INFO(residents << " residents, " << warpgroups << " warpgroups beside " << spare);
          CHECK(*others % target->setmaxnreg.step == 0);
          CHECK(*others >= int64_t(target->setmaxnreg.min));
          auto fits = [&](int64_t registers) {
            const RoleRegisters all[] = {set[0], {4 * warpgroups, registers}};
            return block.fits(all);
          };
          CHECK(fits(*others));
          if (*others < BlockBudget::mostRoleRegisters)
            CHECK_FALSE(fits(*others + target->setmaxnreg.step));
        }
}

TEST_CASE("registers that cannot be moved are no choice", "[target][budget]") {
  const RoleRegisters set[] = {{4, 24}};
  CHECK(BlockBudget(*findTarget("sm_80")).registersBeside(set, 12) == std::nullopt);
  CHECK(BlockBudget(hopper()).registersBeside(set, 4) == std::nullopt); // nobody is left
  const RoleRegisters most[] = {{4, 240}, {4, 240}};
  CHECK(BlockBudget(hopper()).registersBeside(most, 12) == 24);
  CHECK(BlockBudget(hopper(), 2).registersBeside(most, 12) == std::nullopt);
}

TEST_CASE("columns of tensor memory are reserved by powers of two", "[target][budget]") {
  BlockBudget block(blackwell());
  CHECK(block.columnLimit() == 512);
  CHECK(block.columnsReserved() == 0);
  CHECK(block.addColumns(1) == 0);
  CHECK(block.columnsReserved() == 32);
  CHECK(block.addColumns(96) == 1);
  CHECK(block.columnsReserved() == 128);
  CHECK(block.addColumns(256) == 97);
  CHECK(block.columnsReserved() == 512);
  CHECK(block.fits());
  CHECK(block.addColumns(160) == 353);
  CHECK(block.columnsReserved() == 1024);
  CHECK_FALSE(block.fits());
  CHECK(BlockBudget(blackwell(), 2).columnLimit() == 256);
  CHECK(BlockBudget(blackwell(), 3).columnLimit() == 128); // a third, as a power of two
  BlockBudget without(hopper());
  CHECK(without.columnLimit() == 0);
  without.addColumns(32);
  CHECK_FALSE(without.fits());
}
