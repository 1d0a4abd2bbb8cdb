// SPDX-License-Identifier: Apache-2.0
/// \file
/// Invariants of the table of targets.
#include "runtime/target/Target.h"

#include "runtime/target/Hardware.h"

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
    CHECK(target.architectureSpecific == target.name.ends_with('a'));
    CHECK(target.setmaxnreg.min % target.setmaxnreg.step == 0);
    CHECK(target.setmaxnreg.max % target.setmaxnreg.step == 0);
  }
}

TEST_CASE("sm_90a has 227 KiB of shared memory per block", "[target]") {
  CHECK(findTarget("sm_90a")->sharedBytesPerBlock == 232448);
  CHECK(findTarget("sm_80")->sharedBytesPerBlock == 166912);
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

TEST_CASE("a device gets the newest target that runs on it", "[target]") {
  CHECK(findTargetForDevice(9, 0) == findTarget("sm_90a"));
  CHECK(findTargetForDevice(10, 0) == findTarget("sm_100a"));
  CHECK(findTargetForDevice(8, 0) == findTarget("sm_80"));
  // Architecture-specific code does not run on relatives.
  CHECK(findTargetForDevice(8, 9) == findTarget("sm_80"));
  CHECK(findTargetForDevice(10, 3) == findTarget("sm_80"));
  CHECK(findTargetForDevice(12, 0) == findTarget("sm_80"));
  CHECK(findTargetForDevice(7, 5) == nullptr);
}
