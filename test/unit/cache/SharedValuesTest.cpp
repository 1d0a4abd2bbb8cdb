// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values are shared as long as somebody has them, and made once at a time.
#include "runtime/cache/SharedValues.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace tlc;
using Values = SharedValues<std::string>;

namespace {

Key keyOf(int64_t value) { return KeyBuilder().add(value).finish(); }

} // namespace

TEST_CASE("a value is shared until nobody has it", "[cache][shared]") {
  Values values;
  int made = 0;
  const auto make = [&]() -> Result<Values::Pointer> {
    return std::make_shared<std::string>(std::to_string(++made));
  };
  Result<Values::Pointer> one = values.getOrMake(keyOf(1), make), two = values.getOrMake(keyOf(1), make);
  REQUIRE(one);
  REQUIRE(two);
  CHECK(*one == *two);
  CHECK(made == 1);
  CHECK(values.size() == 1);
  REQUIRE(values.getOrMake(keyOf(2), make));
  CHECK(made == 2);
  one = two = Error{};
  CHECK(values.size() == 0);
  CHECK(**values.getOrMake(keyOf(1), make) == "3");
}

TEST_CASE("a value that cannot be made is made the next time", "[cache][shared]") {
  Values values;
  const auto failed =
      values.getOrMake(keyOf(1), []() -> Result<Values::Pointer> { return Error{.message = "no luck"}; });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "no luck");
  CHECK(values.getOrMake(keyOf(1),
                         []() -> Result<Values::Pointer> { return std::make_shared<std::string>("value"); }));
}

TEST_CASE("one thread makes a value, others wait for it, and other keys for nobody", "[cache][shared]") {
  Values values;
  std::atomic<int> made = 0;
  std::atomic<bool> isOtherMade = false;
  std::vector<Values::Pointer> results(8);
  std::vector<std::thread> threads;
  for (Values::Pointer &result : results)
    threads.emplace_back([&] {
      result = *values.getOrMake(keyOf(1), [&]() -> Result<Values::Pointer> {
        ++made;
        while (!isOtherMade) // by another key's thread, meanwhile
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return std::make_shared<std::string>("value");
      });
    });
  threads.emplace_back([&] {
    isOtherMade = bool(values.getOrMake(
        keyOf(2), []() -> Result<Values::Pointer> { return std::make_shared<std::string>("other"); }));
  });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(made == 1);
  for (const Values::Pointer &result : results)
    CHECK(result == results.front());
}
