// SPDX-License-Identifier: Apache-2.0
/// \file
/// The launches of a device that runs beside others, one after the other on a
/// thread of its own.
#pragma once

#include "runtime/support/Result.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace tlc {

class LaunchQueue {
public:
  LaunchQueue() : thread([this] { run(); }) {}
  LaunchQueue(const LaunchQueue &) = delete;
  /// Runs what is queued first.
  ~LaunchQueue() {
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    changed.notify_all();
    thread.join();
  }

  void push(std::function<Result<void>()> launch) {
    {
      const std::lock_guard lock(mutex);
      launches.push_back(std::move(launch));
    }
    changed.notify_all();
  }

  /// Until nothing is under way.
  void drain() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return launches.empty(); });
  }

  /// Likewise; the first error since the last call. Launches queued after one
  /// that fails are dropped.
  Result<void> wait() {
    drain();
    const std::lock_guard lock(mutex);
    if (const std::optional<Error> first = std::exchange(error, std::nullopt))
      return *first;
    return {};
  }

private:
  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return closing || !launches.empty(); });
      if (launches.empty())
        return;
      if (!error) {
        const std::function<Result<void>()> &launch = launches.front();
        lock.unlock();
        const Result<void> done = launch();
        lock.lock();
        if (!done)
          error = done.error();
      }
      launches.pop_front();
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<Result<void>()>> launches; ///< the first one is under way
  std::optional<Error> error;
  bool closing = false;
  std::thread thread; ///< last: it uses all others
};

} // namespace tlc
