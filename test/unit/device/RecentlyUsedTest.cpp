// SPDX-License-Identifier: Apache-2.0
/// \file
/// What programs keep of their last launches, in place of which there are numbers here.
#include "runtime/device/RecentlyUsed.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

using namespace tlc;

namespace {

std::unique_ptr<int> take(RecentlyUsed<int> &kept, int number) {
  return kept.take([=](int one) { return one == number; });
}

} // namespace

TEST_CASE("a kept launch is out while it is used", "[device][kept]") {
  RecentlyUsed<int> kept;
  CHECK_FALSE(take(kept, 1));
  for (int number : {1, 2, 3})
    kept.keep(std::make_unique<int>(number));
  const std::unique_ptr<int> two = take(kept, 2);
  REQUIRE(two);
  CHECK(*two == 2);
  CHECK_FALSE(take(kept, 2));
  CHECK(take(kept, 1));
  CHECK(take(kept, 3));
}

TEST_CASE("the least recently used launch is replaced", "[device][kept]") {
  RecentlyUsed<int> kept;
  const int most = int(RecentlyUsed<int>::capacity);
  for (int number = 0; number < most; ++number)
    kept.keep(std::make_unique<int>(number));
  kept.keep(take(kept, 0)); // used again
  kept.keep(std::make_unique<int>(most));
  CHECK_FALSE(take(kept, 1));
  for (int number : {0, 2, most - 1, most}) {
    CAPTURE(number);
    CHECK(take(kept, number));
  }
}

TEST_CASE("no two threads have one launch", "[device][kept]") {
  RecentlyUsed<std::atomic<int>> kept;
  kept.keep(std::make_unique<std::atomic<int>>(0));
  std::atomic<int> shared = 0, takes = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i)
        if (std::unique_ptr<std::atomic<int>> launch = kept.take([](const auto &) { return true; })) {
          shared += launch->fetch_add(1) != 0;
          ++takes;
          launch->fetch_sub(1);
          kept.keep(std::move(launch));
        }
    });
  threads.clear();
  CHECK(shared == 0);
  CHECK(takes > 0);
}
