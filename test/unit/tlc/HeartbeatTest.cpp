// SPDX-License-Identifier: Apache-2.0
/// \file
/// When it speaks, and that it does not when there is no time to.
#include "tools/tlc/Heartbeat.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace tlc::driver;
using namespace std::chrono_literals;

namespace {

/// What is printed in so much time at least.
std::vector<std::string> linesWithin(std::chrono::milliseconds life, Heartbeat::Times times) {
  std::vector<std::string> lines;
  {
    Heartbeat heartbeat([] { return "counting"; }, times,
                        [&](const std::string &line) { lines.push_back(line); });
    std::this_thread::sleep_for(life);
  }
  return lines;
}

} // namespace

TEST_CASE("what ends soon says nothing, and does not wait for the first line", "[tlc]") {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(linesWithin(0ms, {.first = 1h, .longest = 1h}).empty());
  CHECK(std::chrono::steady_clock::now() - begin < 10min);
}

TEST_CASE("what takes long says what it is at", "[tlc]") {
  const std::vector<std::string> lines = linesWithin(200ms, {.first = 5ms, .longest = 10ms});
  REQUIRE(!lines.empty());
  CHECK(lines.size() <= 40); // 5 ms, then 10 ms each
  CHECK(lines.front() == "tlc: counting, 0 s so far\n");
}
