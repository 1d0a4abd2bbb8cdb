// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who goes next in a cluster. The order is free wherever the program leaves it
/// free; a schedule decides, and nothing else does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace tlc::emulator {

struct Cluster;
struct Warp;
enum class RunState : uint8_t;

/// One step of a cluster.
struct Turn {
  enum class Kind : uint8_t {
    warp,      ///< `warp` runs, at most `instructions`
    operation, ///< the operation at `operation` of the queue, which is ready, completes
    pause,     ///< other clusters may have their turn
    nothing,   ///< no warp can run and no operation can complete
  };
  Kind kind = Kind::nothing;
  Warp *warp = nullptr;
  unsigned instructions = 0;
  size_t operation = 0;

  static Turn run(Warp &warp, unsigned instructions) { return {Kind::warp, &warp, instructions, 0}; }
  static Turn complete(size_t operation) { return {Kind::operation, nullptr, 0, operation}; }
  static Turn pause() { return {Kind::pause, nullptr, 0, 0}; }
  static Turn nothing() { return {}; }
};

/// Of one cluster, from its start to its end.
class Schedule {
public:
  virtual ~Schedule() = default;
  virtual Turn next(Cluster &cluster) = 0;
  /// What came of a turn of a warp.
  virtual void ran(Warp &, RunState) {}
  /// An operation has completed.
  virtual void completed(Cluster &) {}
  /// Whether a try_wait that would wait gives up at once. All do when nothing else can run.
  virtual bool givesUp() { return false; }
};

/// The order in which the clusters of a grid start.
class StartOrder {
public:
  /// Ascending.
  explicit StartOrder(uint32_t clusters = 1) : clusters(clusters) {}
  /// Ascending, descending or mixed, the same for the same seed.
  static StartOrder seeded(uint64_t seed, uint32_t clusters);
  /// Which one starts as the `place`-th; each does once.
  uint32_t at(uint32_t place) const { return uint32_t((first + uint64_t(place) * step) % clusters); }

private:
  uint32_t clusters;
  uint32_t first = 0;
  uint32_t step = 1; ///< has no divisor in common with their number
};

using MakeSchedule = std::function<std::unique_ptr<Schedule>(Cluster &cluster)>;

/// Warps take long turns, one after the other; operations complete when no warp
/// can run, oldest first, which is about as late as the program allows.
std::unique_ptr<Schedule> createRoundRobin();

/// One of many orders that a program allows, the same for the same seed: warps
/// in order, in reverse or at random, in turns of one instruction up to many;
/// operations complete at once, as late as can be or at random. The first nine
/// seeds go through all pairs of those. A try_wait gives up now and then.
std::unique_ptr<Schedule> createSeeded(uint64_t seed, const Cluster &cluster);

} // namespace tlc::emulator
