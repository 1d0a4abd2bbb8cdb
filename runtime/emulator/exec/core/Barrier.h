// SPDX-License-Identifier: Apache-2.0
/// \file
/// What threads wait at: mbarriers in shared memory, the block's named
/// barriers, the cluster's barrier.
#pragma once

#include "runtime/target/Target.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tlc::emulator {

struct Block;
struct Cluster;
struct Instruction;
struct Warp;

inline constexpr unsigned namedBarriers = Target().namedBarriers;

/// bar.sync and its kin. Counts threads; warps arrive whole.
struct NamedBarrier {
  uint32_t arrived = 0;
  uint32_t expected = 0; ///< of the phase under way; 0 means all warps of the block
  uint32_t warps = 0;    ///< a bit for each warp that has arrived in the phase under way
  uint32_t earlier = 0;  ///< likewise in phases before
  uint64_t generation = 0;
  // bar.red, of the phase under way and of the last two.
  uint32_t count = 0;
  bool all = true, any = false;
  struct Reduction {
    uint32_t count = 0;
    bool all = true, any = false;
  };
  std::array<Reduction, 2> results; ///< by the generation's parity
};

/// barrier.cluster: counts lanes of all blocks.
struct ClusterBarrier {
  uint32_t arrived = 0;
  uint64_t generation = 0;
};

/// Which lanes of a warp have arrived at the cluster's barrier and not waited.
struct ClusterArrivals {
  uint32_t lanes = 0;
  std::array<uint64_t, 32> generation = {}; ///< at the arrival
};

/// An mbarrier's 64 bits in shared memory: phase, pending and expected arrivals
/// of the phase, and the bytes still to come.
struct Mbarrier {
  bool phase = false;
  uint32_t expected = 0; ///< 20 bits
  uint32_t pending = 0;  ///< 20 bits
  int32_t bytes = 0;     ///< 21 bits, signed; may be negative for a while

  static Mbarrier decode(uint64_t bits);
  uint64_t encode() const;
};
/// Who has come to an mbarrier since it was initialised, for reports.
struct MbarrierHistory {
  /// The last time that a warp came by an instruction: to arrive, or with bytes of a copy.
  struct Arrival {
    const Warp *warp = nullptr;
    const Instruction *instruction = nullptr;
    uint64_t phase = 0;
  };
  uint64_t phase = 0; ///< the one under way, counted from the initialisation
  std::vector<Arrival> arrivals;
};
using MbarrierHistories = std::map<uint32_t, MbarrierHistory>; ///< by address

inline constexpr uint32_t maximumMbarrierCount = (1u << 20) - 1;

/// A phase that a thread waits for to pass.
struct MbarrierWait {
  Block *block = nullptr;
  uint32_t address = 0;
  bool phase = false;
};

/// False for what shared memory holds before the program writes it, and after inval.
bool isInitialised(Block &block, uint32_t address);
Mbarrier loadMbarrier(Block &block, uint32_t address);
/// Ends the phase when nothing is pending, and stores.
void storeMbarrier(Block &block, uint32_t address, Mbarrier barrier);
bool phasePassed(const MbarrierWait &wait);
/// For reports: "shared offset 16", with the name that the program gave to what lies there, if any.
std::string describeShared(const Block &block, uint32_t address);
/// The same with "the mbarrier at " before it.
std::string describeMbarrier(const Block &block, uint32_t address);
/// Before the arrival is stored.
void noteArrival(Block &block, uint32_t address, const Warp &warp, const Instruction &instruction);
/// What an asynchronous operation does when `bytes` have arrived.
void completeBytes(Block &block, uint32_t address, uint32_t bytes);

/// Lets the waiting warps go.
void completeNamedBarrier(Block &block, NamedBarrier &barrier);
void completeClusterBarrier(Cluster &cluster);
/// Threads of warps that have not exited, 32 for each.
uint32_t liveThreads(const Block &block);
uint32_t liveLanes(const Cluster &cluster);

/// An exited lane or warp no longer counts; called after it left.
void leaveBarriers(Block &block);

} // namespace tlc::emulator
