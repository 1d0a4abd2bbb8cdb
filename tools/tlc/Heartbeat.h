// SPDX-License-Identifier: Apache-2.0
/// \file
/// Signs of life of what takes long, on standard error; what ends soon says nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tlc::driver {

/// Prints a line after some seconds of its life, then at growing distances.
class Heartbeat {
public:
  struct Times {
    std::chrono::milliseconds first{4000}, longest{60000}; ///< each distance is twice the one before
  };
  using Print = std::function<void(const std::string &line)>;

  /// `text` says what is under way, and how far it is; another thread calls it. The line adds the seconds.
  explicit Heartbeat(std::function<std::string()> text);
  Heartbeat(std::function<std::string()> text, Times times, Print print);
  ~Heartbeat();

private:
  void beat(Times times);

  std::function<std::string()> text;
  Print print;
  std::mutex mutex;
  std::condition_variable ending;
  bool isOver = false;
  std::thread thread; ///< uses all of the above
};

} // namespace tlc::driver
