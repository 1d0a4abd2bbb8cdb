// SPDX-License-Identifier: Apache-2.0
/// \file
/// Turns what the timed schedule sees into tracks and spans with names.
#pragma once

#include "runtime/emulator/trace/TimedSchedule.h"

#include <unordered_map>
#include <vector>

namespace tlc::emulator {

class Recorder {
public:
  Recorder(Cluster &cluster, std::span<const NamedTensor> tensors, Trace &trace);

  uint32_t warpTrack(const Warp &warp) const;
  uint32_t engineTrack(const Block &block, AsyncWork::Unit unit) const;

  /// A warp has executed an instruction that took it from `begin` to `end`.
  void ran(const Warp &warp, const Instruction &instruction, uint64_t begin, uint64_t end);
  /// A warp could not issue an instruction because an operand was under way.
  void stalled(const Warp &warp, const Instruction &instruction, uint64_t begin, uint64_t end);
  /// A warp stops at an instruction.
  void waits(const Warp &warp, const Group &group, const Instruction &instruction, uint64_t time);
  /// And goes on.
  void goesOn(const Warp &warp, uint64_t time, std::optional<TracePoint> releasedBy);

  void operation(const AsyncOperation &operation, const Block &block, TracePoint issued, uint64_t begin,
                 uint64_t end);
  /// Something may have ended a phase of a ring's barriers.
  void lookAtRings(uint64_t time);
  void finish(uint64_t time);

private:
  struct WarpState {
    uint32_t track = 0;
    std::optional<TraceSpan> run, wait;
  };
  struct RingSlot {
    Block *block = nullptr;
    uint32_t track = 0;
    uint32_t full = 0, empty = 0; ///< addresses of the mbarriers
    std::optional<bool> fullPhase, emptyPhase;
    std::optional<TraceSpan> open;
  };

  WarpState &stateOf(const Warp &warp) { return warps[warp.block->rank][warp.index]; }
  void endRun(WarpState &state);
  void close(RingSlot &slot, uint64_t time);
  std::string locationOf(const Instruction &instruction) const;
  std::string sharedName(uint64_t address) const;
  std::string waitName(const Warp &warp, const Wait &wait) const;

  Cluster &cluster;
  std::span<const NamedTensor> tensors;
  Trace &trace;
  std::vector<std::vector<WarpState>> warps;
  std::vector<uint32_t> firstEngine; ///< track of each block's loads; stores and products follow
  std::vector<RingSlot> slots;
  /// Of source locations, which are few.
  mutable std::unordered_map<uint32_t, std::string> locations;
};

} // namespace tlc::emulator
