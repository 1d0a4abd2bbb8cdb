// SPDX-License-Identifier: Apache-2.0
/// \file
/// When it speaks, and that it does not when there is no time to.
#include "tools/tlc/Heartbeat.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <vector>

using namespace tlc::driver;
using namespace std::chrono_literals;

TEST_CASE("what ends soon says nothing, and does not wait for the first line", "[tlc]") {
  const auto begin = std::chrono::steady_clock::now();
  int lines = 0;
  {
    Heartbeat heartbeat([] { return "counting"; }, {.first = 1h, .longest = 1h},
                        [&](const std::string &) { ++lines; });
  }
  CHECK(lines == 0);
  CHECK(std::chrono::steady_clock::now() - begin < 1h);
}

TEST_CASE("what takes long says what it is at", "[tlc]") {
  const auto begin = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable printed;
  std::vector<std::string> lines;
  {
    Heartbeat heartbeat([] { return "counting"; }, {.first = 5ms, .longest = 10ms},
                        [&](const std::string &line) {
                          const std::lock_guard lock(mutex);
                          lines.push_back(line);
                          printed.notify_one();
                        });
    std::unique_lock lock(mutex);
    printed.wait(lock, [&] { return lines.size() >= 3; });
  }
  CHECK(std::chrono::steady_clock::now() - begin >= 25ms); // the first line after 5 ms, then one in 10 ms
  CHECK_THAT(lines.front(), Catch::Matchers::Matches("tlc: counting, [0-9]+ s so far\n"));
}
