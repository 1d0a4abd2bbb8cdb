// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/Occupancy.h"

#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include <algorithm>

using namespace tlc;

unsigned Occupancy::blocks() const { return *std::min_element(most.begin(), most.end()); }

OccupancyLimit Occupancy::limit() const {
  return OccupancyLimit(std::min_element(most.begin(), most.end()) - most.begin());
}

Occupancy tlc::occupancyOf(const BlockNeeds &block, const Target &target) {
  const unsigned ofBlocks = target.maxBlocksPerMultiprocessor;
  const auto mostThat = [&](auto fits) {
    unsigned blocks = 0;
    while (blocks < ofBlocks && fits(blocks + 1))
      ++blocks;
    return blocks;
  };
  const auto threads = unsigned(alignTo(block.threads, lanesPerWarp));
  const unsigned ofThreads =
      mostThat([&](unsigned blocks) { return blocks * threads <= target.maxThreadsPerMultiprocessor; });
  // Registers are handed out to whole warps, which the partitions get in turns.
  const unsigned ofRegisters = mostThat([&](unsigned blocks) {
    const auto warps = unsigned(ceilDiv(blocks * (threads / lanesPerWarp), target.partitions));
    return block.registers <= target.maxRegistersPerThread &&
           warps * lanesPerWarp * alignTo(block.registers, target.registerGranularity) <=
               target.registersPerMultiprocessor / target.partitions;
  });
  const unsigned ofShared =
      mostThat([&](unsigned blocks) { return block.sharedBytes <= target.sharedBytesOfBlock(blocks); });
  return {{ofBlocks, ofThreads, ofRegisters, ofShared}};
}
