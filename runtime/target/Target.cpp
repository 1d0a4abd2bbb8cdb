// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/Target.h"

#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <array>

using namespace tlc;

namespace {

constexpr unsigned kib = 1024;
constexpr int64_t mib = 1024 * 1024;

// NVIDIA A100.
constexpr Target sm80 = {
    .name = "sm_80",
    .llvmCpu = "sm_80",
    .computeMajor = 8,
    .computeMinor = 0,
    .ptxVersion = 80,
    .minPtxVersion = 70,
    .driverVersion = 12000,
    .sharedBytesPerBlock = 163 * kib,
    .sharedBytesPerMultiprocessor = 164 * kib,
    .sharedReservedPerBlock = 1 * kib,
    .l2Bytes = 40 * mib,
    .multiprocessors = 108,
    .maxParameterBytes = 4096,
    .mmaSync = true,
    .cpAsync = true,
};

// NVIDIA H200. Relaxed mbarrier arrives need PTX 8.6.
constexpr Target sm90a = {
    .name = "sm_90a",
    .llvmCpu = "sm_90a",
    .computeMajor = 9,
    .computeMinor = 0,
    .architectureSpecific = true,
    .ptxVersion = 87,
    .minPtxVersion = 80,
    .driverVersion = 12080,
    .sharedBytesPerBlock = 227 * kib,
    .sharedBytesPerMultiprocessor = 228 * kib,
    .sharedReservedPerBlock = 1 * kib,
    .l2Bytes = 60 * mib,
    .maxAddedFloats = 4,
    .multiprocessors = 132,
    .maxClusterSize = 8,
    .mmaSync = true,
    .wgmma = true,
    .cpAsync = true,
    .mbarrier = true,
    .stmatrix = true,
    .multimem = true,
    .float8 = true,
    .launchOrder = true,
    .tma = {.available = true},
    .setmaxnreg = {.available = true},
};

// NVIDIA B200. All forms of tcgen05 need PTX 8.8.
constexpr Target sm100a = {
    .name = "sm_100a",
    .llvmCpu = "sm_100a",
    .computeMajor = 10,
    .computeMinor = 0,
    .architectureSpecific = true,
    .ptxVersion = 88,
    .minPtxVersion = 86,
    .driverVersion = 12090,
    .sharedBytesPerBlock = 227 * kib,
    .sharedBytesPerMultiprocessor = 228 * kib,
    .sharedReservedPerBlock = 1 * kib,
    .l2Bytes = 126 * mib,
    .maxAddedFloats = 4,
    .multiprocessors = 148,
    .maxClusterSize = 8,
    .mmaSync = true,
    .tcgen05 = true,
    .cpAsync = true,
    .mbarrier = true,
    .stmatrix = true,
    .multimem = true,
    .float8 = true,
    .float4 = true,
    .launchOrder = true,
    .tma = {.available = true},
    .setmaxnreg = {.available = true},
    .tensorMemory = {.available = true},
};

constexpr std::array targets = {sm80, sm90a, sm100a};

} // namespace

bool Target::runsOn(int major, int minor) const {
  if (architectureSpecific)
    return major == computeMajor && minor == computeMinor;
  return major > computeMajor || (major == computeMajor && minor >= computeMinor);
}

unsigned Target::maxRegistersForBlock(unsigned threads, unsigned residents) const {
  if (threads == 0 || residents == 0)
    return 0;
  // Registers are handed out to whole warps, which the partitions get in turns.
  auto warps = unsigned(ceilDiv(threads, lanesPerWarp));
  unsigned inPartition = ceilDiv(warps * residents, partitions);
  auto perThread = unsigned(registersPerMultiprocessor / partitions / (inPartition * lanesPerWarp));
  unsigned largest = maxRegistersPerThread / registerGranularity * registerGranularity;
  return std::min(perThread / registerGranularity * registerGranularity, largest);
}

unsigned Target::sharedBytesOfBlock(unsigned residents) const {
  unsigned share = residents == 0 ? 0 : sharedBytesPerMultiprocessor / residents;
  return share <= sharedReservedPerBlock ? 0 : std::min(sharedBytesPerBlock, share - sharedReservedPerBlock);
}

std::span<const Target> tlc::allTargets() { return targets; }

std::string tlc::targetNames() {
  std::string names;
  for (const Target &target : targets)
    names += (names.empty() ? "" : ", ") + std::string(target.name);
  return names;
}

const Target *tlc::findTarget(std::string_view name) {
  auto found = std::ranges::find(targets, name, &Target::name);
  return found == targets.end() ? nullptr : &*found;
}

const Target *tlc::findTargetForDevice(int major, int minor) {
  // Rows are ordered by age, so the last that runs is the best.
  const Target *best = nullptr;
  for (const Target &target : targets) {
    if (target.runsOn(major, minor))
      best = &target;
  }
  return best;
}
