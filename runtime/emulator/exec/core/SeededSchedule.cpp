// SPDX-License-Identifier: Apache-2.0
/// \file
/// Orders other than the usual one, so that what a program forgets to wait for
/// shows.
#include "runtime/emulator/exec/core/Schedule.h"
#include "runtime/emulator/exec/core/State.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace tlc::emulator {

namespace {

enum class WarpOrder : uint8_t { ascending, descending, random };
enum class Completion : uint8_t { latest, earliest, random };

class Seeded : public Schedule {
public:
  Seeded(uint64_t seed, uint32_t cluster)
      : order(WarpOrder((seed + 2) % 3)), completion(Completion((seed + 1) / 3 % 3)),
        random(seed * 0x9E3779B97F4A7C15ull + cluster) {}

  Turn next(Cluster &cluster) override {
    if (idle.empty())
      for (const Block &block : cluster.blocks)
        idle.resize(idle.size() + block.warps.size());
    if (++turns % turnsPerPause == 0)
      return Turn::pause();
    // Warps that only spin must not keep the queue from ever completing.
    const bool late = ++turnsSinceCompletion > turnsToCompletion;
    if (late || completion == Completion::earliest || (completion == Completion::random && chance(4)))
      if (const auto operation = pickOperation(cluster))
        return Turn::complete(*operation);
    if (Warp *warp = pickWarp(cluster)) {
      constexpr unsigned lengths[] = {1, 3, 17, 120, 8192};
      return Turn::run(*warp, lengths[random() % std::size(lengths)]);
    }
    if (const auto operation = pickOperation(cluster))
      return Turn::complete(*operation);
    // Waits may expire now.
    std::fill(idle.begin(), idle.end(), false);
    return Turn::nothing();
  }

  void ran(Warp &, RunState state) override {
    if (state == RunState::ran)
      std::fill(idle.begin(), idle.end(), false);
    else
      idle[last] = true;
  }

  void completed(Cluster &) override {
    turnsSinceCompletion = 0;
    std::fill(idle.begin(), idle.end(), false);
  }

  // Not always: who waits in a loop has to stand still for a deadlock to be seen.
  bool givesUp() override { return chance(4); }

private:
  bool chance(unsigned oneIn) { return random() % oneIn == 0; }

  /// One that has not turned out to wait since something happened last.
  Warp *pickWarp(Cluster &cluster) {
    const size_t count = idle.size(), perBlock = cluster.blocks[0].warps.size();
    const size_t start = order == WarpOrder::random ? random() % count : last;
    for (size_t i = 1; i <= count; ++i) {
      const size_t at = order == WarpOrder::descending ? (start + count - i) % count : (start + i) % count;
      Warp &warp = cluster.blocks[at / perBlock].warps[at % perBlock];
      if (idle[at] || warp.done())
        continue;
      last = at;
      return &warp;
    }
    return nullptr;
  }

  std::optional<size_t> pickOperation(Cluster &cluster) {
    const AsyncQueue &queue = cluster.queue;
    const size_t start = completion == Completion::random && queue.size() != 0 ? random() % queue.size() : 0;
    for (size_t i = 0; i < queue.size(); ++i)
      if (const size_t at = (start + i) % queue.size(); queue.isReady(at))
        return at;
    return std::nullopt;
  }

  static constexpr unsigned turnsPerPause = 256, turnsToCompletion = 512;
  const WarpOrder order;
  const Completion completion;
  std::mt19937_64 random;
  std::vector<bool> idle; ///< by warp
  size_t last = 0;        ///< the warp that ran
  unsigned turns = 0, turnsSinceCompletion = 0;
};

} // namespace

StartOrder StartOrder::seeded(uint64_t seed, uint32_t clusters) {
  StartOrder order(clusters);
  // Other pairs with the order of warps than always the same.
  switch (WarpOrder((seed + seed / 3) % 3)) {
  case WarpOrder::ascending:
    break;
  case WarpOrder::descending:
    order.first = order.step = clusters - 1;
    break;
  case WarpOrder::random: {
    std::mt19937_64 random(seed);
    order.first = uint32_t(random() % clusters);
    do
      order.step = uint32_t(random() % clusters);
    while (std::gcd(order.step, clusters) != 1);
    break;
  }
  }
  return order;
}

std::unique_ptr<Schedule> createSeeded(uint64_t seed, const Cluster &cluster) {
  return std::make_unique<Seeded>(seed, cluster.index);
}

} // namespace tlc::emulator
