// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/Target.h"

#include "runtime/support/Math.h"
#include "runtime/target/CodeTarget.h"
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

// NVIDIA L4; L40S and RTX 4090 have the same limits. Products of 8-bit floats need PTX 8.4.
constexpr Target sm89 = {
    .name = "sm_89",
    .llvmCpu = "sm_89",
    .computeMajor = 8,
    .computeMinor = 9,
    .ptxVersion = 84,
    .minPtxVersion = 78,
    .driverVersion = 12040,
    .sharedBytesPerBlock = 99 * kib,
    .sharedBytesPerMultiprocessor = 100 * kib,
    .sharedReservedPerBlock = 1 * kib,
    .l2Bytes = 48 * mib,
    .multiprocessors = 58,
    .maxThreadsPerMultiprocessor = 1536,
    .maxBlocksPerMultiprocessor = 24,
    .mmaSync = true,
    .cpAsync = true,
    .float8 = true,
};

// NVIDIA H200. Relaxed mbarrier arrives need PTX 8.6.
constexpr Target sm90a = {
    .name = "sm_90a",
    .llvmCpu = "sm_90a",
    .computeMajor = 9,
    .computeMinor = 0,
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
    .launchControl = true,
    .tma = {.available = true},
    .setmaxnreg = {.available = true},
    .tensorMemory = {.available = true},
};

// What NVIDIA B200 and B300 both run.
constexpr Target sm100f = [] {
  Target target = sm100a;
  target.name = target.llvmCpu = "sm_100f";
  target.minPtxVersion = 88;
  return target;
}();

// NVIDIA B300. Its L2 cache is taken to be that of B200.
constexpr Target sm103a = [] {
  Target target = sm100a;
  target.name = target.llvmCpu = "sm_103a";
  target.computeMinor = 3;
  target.minPtxVersion = 88;
  return target;
}();

// NVIDIA Jetson AGX Thor. Nothing says that its memory can be that of several devices.
constexpr Target sm110a = [] {
  Target target = sm100a;
  target.name = target.llvmCpu = "sm_110a";
  target.computeMajor = 11;
  target.ptxVersion = 90;
  target.minPtxVersion = 90;
  target.driverVersion = 13000;
  target.l2Bytes = 32 * mib;
  target.multiprocessors = 20;
  target.maxThreadsPerMultiprocessor = 1536;
  target.maxBlocksPerMultiprocessor = 24;
  target.multimem = false;
  return target;
}();

// NVIDIA RTX PRO 6000 Blackwell; RTX 5090 has the same limits. Has the copies and barriers of sm_100a, but
// the limits and the products of sm_89. No NVLink, hence no multimem.
constexpr Target sm120a = {
    .name = "sm_120a",
    .llvmCpu = "sm_120a",
    .computeMajor = 12,
    .computeMinor = 0,
    .ptxVersion = 87,
    .minPtxVersion = 87,
    .driverVersion = 12080,
    .sharedBytesPerBlock = 99 * kib,
    .sharedBytesPerMultiprocessor = 100 * kib,
    .sharedReservedPerBlock = 1 * kib,
    .l2Bytes = 128 * mib,
    .maxAddedFloats = 4,
    .multiprocessors = 188,
    .maxThreadsPerMultiprocessor = 1536,
    .maxBlocksPerMultiprocessor = 24,
    .maxClusterSize = 8,
    .mmaSync = true,
    .cpAsync = true,
    .mbarrier = true,
    .stmatrix = true,
    .float8 = true,
    .float4 = true,
    .launchOrder = true,
    .launchControl = true,
    .tma = {.available = true},
    .setmaxnreg = {.available = true},
};

// The code of one device comes after that of its family.
constexpr std::array targets = {sm80, sm89, sm90a, sm100f, sm100a, sm103a, sm110a, sm120a};

} // namespace

bool Target::runsOn(int major, int minor) const { return parseCodeTarget(name)->runsOn(major, minor); }

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
  const Target *best = nullptr;
  for (const Target &target : targets) {
    if (target.runsOn(major, minor))
      best = &target;
  }
  return best;
}
