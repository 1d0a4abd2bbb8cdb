// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which launches come before which: those of a device one after the other, and
/// those that the host has waited for before those that it issues then. All
/// others may run at the same time.
#pragma once

#include "runtime/emulator/check/GlobalShadow.h"

#include <numeric>
#include <utility>

namespace tlc::emulator {

/// What comes before a launch.
struct LaunchOrder {
  std::shared_ptr<GlobalShadow> shadow;      ///< of all that it may meet
  std::shared_ptr<const Foreign> known = {}; ///< when it begins; then, with what it learns, when it is over
  std::shared_ptr<const void> owner = {};    ///< of its program and names; null: they outlive the shadow
};

/// Of devices that are emulated together, as one thread of the host uses them, or one for each.
class DeviceOrder {
public:
  explicit DeviceOrder(unsigned devices) : devices(devices) {}

  size_t size() const { return devices.size(); }
  /// The host gives a launch to a device.
  LaunchOrder issue(int device) {
    const std::lock_guard lock(mutex);
    ++of(device).open;
    const auto open = [](unsigned sum, const OfDevice &each) { return sum + each.open; };
    if (!shadow || std::accumulate(devices.begin(), devices.end(), 0u, open) == 1) {
      // What was before is over for all that comes.
      shadow = std::make_shared<GlobalShadow>();
      hostKnows = nullptr;
      for (OfDevice &each : devices)
        each.knows = nullptr;
    }
    return {.shadow = shadow, .known = hostKnows};
  }
  /// It begins, as the only one of the device.
  void begin(int device, LaunchOrder &order) {
    const std::lock_guard lock(mutex);
    joinForeign(order.known, of(device).knows);
  }
  void end(int device, const LaunchOrder &order) {
    const std::lock_guard lock(mutex);
    of(device).knows = order.known;
  }
  /// The host has waited for all that the device has been given.
  void wait(int device) {
    const std::lock_guard lock(mutex);
    OfDevice &each = of(device);
    if (std::exchange(each.open, 0) == 0)
      return;
    auto known = std::make_shared<Foreign>();
    known->end(size_t(device), shadow->next());
    joinForeign(each.knows, std::move(known));
    joinForeign(hostKnows, each.knows);
  }
  /// Memory is allocated, perhaps where other memory was.
  void allocated(const void *address, size_t bytes) {
    const std::lock_guard lock(mutex);
    if (shadow && devices.size() > 1)
      shadow->forget(reinterpret_cast<uint64_t>(address), bytes);
  }

private:
  struct OfDevice {
    unsigned open = 0;                    ///< launches that the host has not waited for
    std::shared_ptr<const Foreign> knows; ///< by its launches that are over
  };
  OfDevice &of(int device) { return devices[size_t(device)]; }

  std::mutex mutex;
  std::vector<OfDevice> devices;
  std::shared_ptr<GlobalShadow> shadow;
  std::shared_ptr<const Foreign> hostKnows;
};

} // namespace tlc::emulator
