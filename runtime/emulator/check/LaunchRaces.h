// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the checkers of all clusters of a launch share.
#pragma once

#include "runtime/emulator/check/DeviceOrder.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/core/State.h"

#include <mutex>

namespace tlc::emulator {

class LaunchRaces final : public LaunchObserver {
public:
  /// Null: of a launch by itself.
  explicit LaunchRaces(LaunchOrder *order) : order(order ? *order : alone) {}

  /// Tells the checkers of launches that may run at the same time of this one.
  void begin(const Grid &grid) override;
  std::unique_ptr<Observer> observe(Cluster &cluster) override;
  void end() override { joinForeign(order.known, learnt); }

  GlobalShadow &shadow() const { return *order.shadow; }
  /// What comes before the launch.
  const std::shared_ptr<const Foreign> &known() const { return order.known; }
  /// A cluster's number among those of all launches that may run now.
  uint32_t numberOf(const Cluster &cluster) const { return firstNumber + cluster.index; }
  /// Whether it is the number of a cluster of this launch.
  bool includes(uint32_t number) const { return number - firstNumber < clusters; }
  /// A cluster that is done has learnt of other devices.
  void learn(const Foreign &of);

private:
  LaunchOrder alone{.shadow = std::make_shared<GlobalShadow>()};
  LaunchOrder &order;
  uint32_t firstNumber = 0, clusters = 0;
  std::mutex mutex; ///< of the next
  std::shared_ptr<const Foreign> learnt;
};

} // namespace tlc::emulator
