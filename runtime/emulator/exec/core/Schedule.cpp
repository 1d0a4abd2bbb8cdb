// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/core/Schedule.h"

#include "runtime/emulator/exec/core/State.h"

namespace tlc::emulator {

namespace {

class RoundRobin : public Schedule {
public:
  Turn next(Cluster &cluster) override {
    while (true) {
      for (; block < cluster.blocks.size(); ++block, warp = 0)
        while (warp < cluster.blocks[block].warps.size())
          if (Warp &candidate = cluster.blocks[block].warps[warp++]; !candidate.done())
            return Turn::run(candidate, cluster.grid->workspace == 0 ? instructionsPerTurn : shortTurn);
      // The end of a round.
      block = 0;
      const bool ranAny = std::exchange(anyRan, false), alive = std::exchange(anyAlive, false);
      if (ranAny && alive) {
        ++rounds, ++quietRounds;
        // Warps that only spin would keep the queue from ever completing.
        if (rounds % roundsPerCompletion != 0)
          continue;
      }
      if (quietRounds >= quietRoundsPerPause || rounds >= roundsPerPause) {
        rounds = quietRounds = 0;
        return Turn::pause();
      }
      if (const size_t oldest = cluster.queue.oldestReady(); oldest < cluster.queue.size())
        return Turn::complete(oldest);
      if (!ranAny)
        return Turn::nothing();
    }
  }

  void ran(Warp &warp, RunState state) override {
    anyRan |= state == RunState::ran;
    anyAlive |= !warp.done();
  }

  void completed(Cluster &) override { quietRounds = 0; }

private:
  /// Blocks of cooperative launches mostly wait for each other, polling.
  static constexpr unsigned instructionsPerTurn = 8192, shortTurn = 128;
  static constexpr unsigned roundsPerCompletion = 8;
  /// A cluster goes on while its operations complete: each further one that starts takes memory.
  static constexpr unsigned quietRoundsPerPause = 16, roundsPerPause = 1024;

  size_t block = 0, warp = 0; ///< next
  unsigned rounds = 0;        ///< since a pause
  unsigned quietRounds = 0;   ///< since a pause, or since an operation completed
  bool anyRan = false, anyAlive = false;
};

} // namespace

std::unique_ptr<Schedule> createRoundRobin() { return std::make_unique<RoundRobin>(); }

} // namespace tlc::emulator
