// SPDX-License-Identifier: Apache-2.0
/// \file
/// The memory cache computes once per key, also under concurrency.
#include "runtime/cache/MemoryCache.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace tlc;
using Cache = MemoryCache<std::string>;

namespace {

Key keyOf(int64_t value) { return KeyBuilder().add(value).finish(); }

} // namespace

TEST_CASE("hit and miss return the same object", "[cache][memory]") {
  Cache cache;
  int computed = 0;
  auto compute = [&]() -> Result<Cache::Pointer> {
    ++computed;
    return std::make_shared<const std::string>("value");
  };
  CHECK(cache.find(keyOf(1)) == nullptr);
  Result<Cache::Pointer> miss = cache.getOrCompute(keyOf(1), compute);
  Result<Cache::Pointer> hit = cache.getOrCompute(keyOf(1), compute);
  REQUIRE(miss);
  REQUIRE(hit);
  CHECK(*miss == *hit);
  CHECK(cache.find(keyOf(1)) == *miss);
  CHECK(computed == 1);
  cache.clear();
  CHECK(cache.find(keyOf(1)) == nullptr);
  REQUIRE(cache.getOrCompute(keyOf(1), compute));
  CHECK(computed == 2);
}

TEST_CASE("failures are returned and not kept", "[cache][memory]") {
  Cache cache;
  Result<Cache::Pointer> failed =
      cache.getOrCompute(keyOf(1), []() -> Result<Cache::Pointer> { return Error{.message = "no luck"}; });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "no luck");
  CHECK(cache.find(keyOf(1)) == nullptr);
  CHECK(cache.getOrCompute(
      keyOf(1), []() -> Result<Cache::Pointer> { return std::make_shared<const std::string>("value"); }));
}

TEST_CASE("concurrent misses of one key compute once", "[cache][memory]") {
  Cache cache;
  std::atomic<int> computed = 0;
  std::vector<Cache::Pointer> results(16);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      Result<Cache::Pointer> result = cache.getOrCompute(keyOf(i % 2), [&]() -> Result<Cache::Pointer> {
        ++computed;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return std::make_shared<const std::string>(std::to_string(i % 2));
      });
      if (result)
        results[i] = *result;
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  CHECK(computed == 2);
  for (size_t i = 0; i < results.size(); ++i) {
    REQUIRE(results[i]);
    CHECK(results[i] == results[i % 2]);
    CHECK(*results[i] == std::to_string(i % 2));
  }
}

TEST_CASE("computing one key does not block another", "[cache][memory]") {
  Cache cache;
  // The outer computation finishes only after the inner one of another key.
  Result<Cache::Pointer> outer = cache.getOrCompute(keyOf(1), [&]() -> Result<Cache::Pointer> {
    return cache.getOrCompute(
        keyOf(2), []() -> Result<Cache::Pointer> { return std::make_shared<const std::string>("inner"); });
  });
  REQUIRE(outer);
  CHECK(**outer == "inner");
}

TEST_CASE("the least recently used are forgotten, and kept by whoever has them", "[cache][memory]") {
  Cache cache(2);
  auto get = [&](int64_t number) {
    Result<Cache::Pointer> value = cache.getOrCompute(keyOf(number), [&]() -> Result<Cache::Pointer> {
      return std::make_shared<const std::string>(std::to_string(number));
    });
    REQUIRE(value);
    return *value;
  };
  Cache::Pointer first = get(1);
  get(2);
  CHECK(get(1) == first); // now the one used last
  get(3);
  CHECK(cache.find(keyOf(2)) == nullptr);
  CHECK(cache.find(keyOf(1)) == first); // again
  get(4);
  CHECK(cache.find(keyOf(3)) == nullptr);
  get(5);
  CHECK(cache.find(keyOf(1)) == nullptr);
  CHECK(*first == "1");
}

TEST_CASE("what is being computed is not forgotten", "[cache][memory]") {
  Cache cache(1);
  int computed = 0;
  Result<Cache::Pointer> outer = cache.getOrCompute(keyOf(1), [&]() -> Result<Cache::Pointer> {
    ++computed;
    REQUIRE(cache.getOrCompute(
        keyOf(2), []() -> Result<Cache::Pointer> { return std::make_shared<const std::string>("inner"); }));
    return std::make_shared<const std::string>("outer");
  });
  REQUIRE(outer);
  CHECK(cache.find(keyOf(1)) == *outer);
  CHECK(computed == 1);
}
