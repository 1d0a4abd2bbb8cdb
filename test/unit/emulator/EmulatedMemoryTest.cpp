// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the memory of emulated devices lies.
#include "runtime/emulator/EmulatedMemory.h"

#include "test/Expect.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <set>
#include <sys/mman.h>

using namespace tlc;
using namespace tlc::test;

namespace {

constexpr uintptr_t gibibyte = uintptr_t(1) << 30;

uintptr_t allocate(EmulatedMemory &memory, size_t bytes) {
  return reinterpret_cast<uintptr_t>(expectValue(memory.allocate(0, bytes, RaceCheck::off)));
}

/// The smallest distance between the beginnings of two of them.
uintptr_t smallestDistance(const std::set<uintptr_t> &addresses) {
  uintptr_t smallest = UINTPTR_MAX;
  for (auto next = std::next(addresses.begin()); next != addresses.end(); ++next)
    smallest = std::min(smallest, *next - *std::prev(next));
  return smallest;
}

} // namespace

TEST_CASE("memory that was freed leaves room for more") {
  // Together they would need 256 TiB, more than a process can address.
  EmulatedMemory memory;
  std::set<uintptr_t> live;
  bool isFar = true;
  for (int i = 0; i < 4096; ++i) {
    live.insert(allocate(memory, 4096));
    isFar = isFar && (live.size() < 2 || smallestDistance(live) >= 64 * gibibyte);
    if (live.size() == 20) {
      const auto oldest = std::next(live.begin(), i % 20);
      REQUIRE(memory.free(0, reinterpret_cast<void *>(*oldest)));
      live.erase(oldest);
    }
  }
  CHECK(isFar);
}

TEST_CASE("each of several memories has its allocations far from each other") {
  std::vector<std::unique_ptr<EmulatedMemory>> memories;
  std::set<uintptr_t> all;
  for (int i = 0; i < 100; ++i) {
    EmulatedMemory &memory = *memories.emplace_back(std::make_unique<EmulatedMemory>());
    std::set<uintptr_t> own;
    for (int j = 0; j < 20; ++j) {
      const uintptr_t address = allocate(memory, 100);
      std::memset(reinterpret_cast<void *>(address), i, 100);
      own.insert(address);
    }
    CHECK(smallestDistance(own) >= 64 * gibibyte);
    all.merge(own);
  }
  CHECK(all.size() == 2000);
}

TEST_CASE("memory that others have mapped is left alone") {
  EmulatedMemory memory;
  std::set<uintptr_t> own = {allocate(memory, 100)};
  constexpr size_t bytes = 1 << 16;
  // Where the next allocation would begin.
  void *wanted = reinterpret_cast<void *>(*own.begin() + 64 * gibibyte);
  void *other = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(other != MAP_FAILED);
  std::memset(other, 7, bytes);
  for (int i = 0; i < 10; ++i) {
    const uintptr_t address = allocate(memory, 1 << 20);
    std::memset(reinterpret_cast<void *>(address), 1, 1 << 20);
    own.insert(address);
  }
  CHECK(smallestDistance(own) >= 64 * gibibyte);
  const auto *begin = static_cast<const std::byte *>(other);
  CHECK(std::all_of(begin, begin + bytes, [](std::byte byte) { return byte == std::byte(7); }));
  munmap(other, bytes);
}

TEST_CASE("more bytes than there are is an error") {
  EmulatedMemory memory;
  for (const size_t bytes : {size_t(1) << 50, size_t(1) << 62, SIZE_MAX / 2, SIZE_MAX}) {
    const Result<void *> given = memory.allocate(0, bytes, RaceCheck::off);
    REQUIRE_FALSE(given);
    CHECK_FALSE(given.error().message.empty());
  }
}
