// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/LaunchRaces.h"

#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/check/RaceChecker.h"
#include "runtime/support/Math.h"

namespace tlc::emulator {

void LaunchRaces::begin(const Grid &grid) {
  CheckedLaunch launch;
  launch.owner = order.owner;
  launch.program = grid.program, launch.kernel = grid.kernel, launch.names = grid.names;
  launch.device = grid.device;
  launch.blocks = grid.blocks, launch.cluster = grid.cluster;
  launch.clusters = clusters = clusterCount(grid);
  launch.warpsOfBlock = ceilDiv(grid.threads[0] * grid.threads[1] * grid.threads[2], warpSize);
  firstNumber = order.shadow->add(launch);
  if (firstNumber == 1)
    return;
  // What the device did before is over.
  auto known = order.known ? std::make_shared<Foreign>(*order.known) : std::make_shared<Foreign>();
  known->end(size_t(grid.device), firstNumber);
  order.known = std::move(known);
}

std::unique_ptr<Observer> LaunchRaces::observe(Cluster &cluster) {
  return std::make_unique<RaceChecker>(cluster, *this);
}

void LaunchRaces::learn(const Foreign &of) {
  // Its own launch is over for who comes to know this.
  auto others = std::make_shared<Foreign>(of);
  std::erase_if(others->clusters, [&](const auto &entry) { return includes(entry.first); });
  const std::lock_guard lock(mutex);
  joinForeign(learnt, others);
}

MakeLaunchObserver observeRaces(RaceCheck check, LaunchOrder *order) {
  if (check == RaceCheck::off)
    return {};
  return [order] { return std::make_unique<LaunchRaces>(order); };
}

} // namespace tlc::emulator
