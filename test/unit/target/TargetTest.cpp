// SPDX-License-Identifier: Apache-2.0
/// \file
/// Invariants of the table of targets.
#include "runtime/target/Target.h"

#include "runtime/target/CodeTarget.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Timing.h"
#include "runtime/target/Units.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tlc;

TEST_CASE("every target is found by its own name and by no other", "[target]") {
  std::set<std::string_view> names;
  for (const Target &target : allTargets()) {
    CHECK(findTarget(target.name) == &target);
    CHECK(names.insert(target.name).second);
  }
  CHECK(findTarget("sm_90") == nullptr);
  CHECK(findTarget("") == nullptr);
}

TEST_CASE("the facts of each target are consistent", "[target]") {
  for (const Target &target : allTargets()) {
    INFO(target.name);
    CHECK(target.sharedBytesPerBlock + target.sharedReservedPerBlock <= target.sharedBytesPerMultiprocessor);
    CHECK(target.sharedBytesWithoutOptIn <= target.sharedBytesPerBlock);
    CHECK(target.minPtxVersion <= target.ptxVersion);
    CHECK(target.driverVersion >= 12000);
    CHECK(target.maxThreadsPerBlock % threadsPerWarpgroup == 0);
    CHECK(target.multiprocessors > 0);
    CHECK(target.tma.available == target.mbarrier);
    CHECK((target.maxClusterSize > 1) == (target.sm() >= 90));
    CHECK(target.tensorMemory.available == target.tcgen05);
    REQUIRE(parseCodeTarget(target.name));
    CHECK(target.sm() == parseCodeTarget(target.name)->sm);
    CHECK(timingOf(target).multiplyAddsPerCycle > 0);
    CHECK(target.setmaxnreg.min % target.setmaxnreg.step == 0);
    CHECK(target.setmaxnreg.max % target.setmaxnreg.step == 0);
  }
}

TEST_CASE("blocks have the shared memory of the device", "[target]") {
  CHECK(findTarget("sm_80")->sharedBytesPerBlock == 166912);
  for (std::string_view name : {"sm_90a", "sm_100f", "sm_100a", "sm_103a", "sm_110a"})
    CHECK(findTarget(name)->sharedBytesPerBlock == 232448);
  for (std::string_view name : {"sm_89", "sm_120a"})
    CHECK(findTarget(name)->sharedBytesPerBlock == 101376);
}

// ptxas ignores .minnctapersm of more, with a warning.
TEST_CASE("multiprocessors have room for the threads and blocks that ptxas knows", "[target]") {
  for (const Target &target : allTargets()) {
    INFO(target.name);
    bool isSmall = target.sm() == 89 || target.sm() >= 110;
    CHECK(target.maxThreadsPerMultiprocessor == (isSmall ? 1536 : 2048));
    CHECK(target.maxBlocksPerMultiprocessor == (isSmall ? 24 : 32));
  }
}

TEST_CASE("relatives of sm_100a have its units but few", "[target]") {
  const auto differences = [](std::string_view name) {
    std::string text;
    for (auto unit = unsigned(Unit::cluster); unit <= unsigned(Unit::wgmma); ++unit)
      if (hasUnit(*findTarget(name), Unit(unit)) != hasUnit(*findTarget("sm_100a"), Unit(unit)))
        text += (text.empty() ? "" : ", ") + std::string(describe(Unit(unit)));
    return text;
  };
  CHECK(differences("sm_100f") == "");
  CHECK(differences("sm_103a") == "");
  CHECK(differences("sm_110a") == "multimem");
  CHECK(differences("sm_120a") == "multimem, tensor memory");
}

TEST_CASE("the registers of a block never exceed the register file", "[target]") {
  for (const Target &target : allTargets()) {
    for (unsigned threads = 1; threads <= target.maxThreadsPerBlock; ++threads) {
      unsigned registers = target.maxRegistersForBlock(threads);
      CHECK(registers % target.registerGranularity == 0);
      CHECK(registers <= target.maxRegistersPerThread);
      CHECK(registers * threads <= target.registersPerBlock);
    }
  }
  const Target &hopper = *findTarget("sm_90a");
  CHECK(hopper.maxRegistersForBlock(384) == 168);
  CHECK(hopper.maxRegistersForBlock(512) == 128);
  CHECK(hopper.maxRegistersForBlock(128) == 248);
  CHECK(hopper.maxRegistersForBlock(0) == 0);
}

TEST_CASE("blocks that share a multiprocessor share its registers and its memory", "[target]") {
  for (const Target &target : allTargets())
    for (unsigned residents = 1; residents <= target.maxBlocksPerMultiprocessor; ++residents) {
      CHECK(residents * (target.sharedBytesOfBlock(residents) + target.sharedReservedPerBlock) <=
            target.sharedBytesPerMultiprocessor);
      CHECK(residents * 64 * target.maxRegistersForBlock(64, residents) <= target.registersPerMultiprocessor);
    }
  const Target &hopper = *findTarget("sm_90a");
  CHECK(hopper.sharedBytesOfBlock(0) == 0);
  CHECK(hopper.sharedBytesOfBlock(1) == hopper.sharedBytesPerBlock);
  CHECK(hopper.sharedBytesOfBlock(2) == 113 * 1024);
  CHECK(hopper.sharedBytesOfBlock(400) == 0);
  CHECK(hopper.maxRegistersForBlock(160, 2) == 168); // a partition has three of the ten warps
  CHECK(hopper.maxRegistersForBlock(160, 0) == 0);
}

TEST_CASE("a device gets the best target that runs on it", "[target]") {
  const auto nameFor = [](int major, int minor) {
    const Target *target = findTargetForDevice(major, minor);
    return target ? target->name : "none";
  };
  CHECK(nameFor(7, 5) == "none");
  CHECK(nameFor(8, 0) == "sm_80");
  CHECK(nameFor(8, 6) == "sm_80");
  CHECK(nameFor(8, 7) == "sm_80");
  CHECK(nameFor(8, 9) == "sm_89");
  CHECK(nameFor(9, 0) == "sm_90a");
  CHECK(nameFor(10, 0) == "sm_100a");
  CHECK(nameFor(10, 3) == "sm_103a");
  CHECK(nameFor(11, 0) == "sm_110a");
  CHECK(nameFor(12, 0) == "sm_120a");
  // Code of one device, or of a family, does not run on relatives.
  CHECK(nameFor(10, 1) == "sm_89"); // Thor before CUDA 13
  CHECK(nameFor(12, 1) == "sm_89");
  CHECK(nameFor(13, 0) == "sm_89");
}

TEST_CASE("code of a family runs on its later members alone", "[target]") {
  const Target &family = *findTarget("sm_100f");
  CHECK(family.runsOn(10, 0));
  CHECK(family.runsOn(10, 3));
  for (auto [major, minor] : {std::pair(9, 0), {10, 1}, {11, 0}, {12, 0}})
    CHECK_FALSE(family.runsOn(major, minor));
}
