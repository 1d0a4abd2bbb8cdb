// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are processes of their own, on a GPU each. This program starts itself once for each rank; they
/// exchange what they have to by files.
#include "runtime/cuda/CudaPeers.h"
#include "test/ranks/RankProcess.h"
#include "test/ranks/RingRank.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

using namespace tlc;
using namespace tlc::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr const char *testOfRank = "a rank that is a process";

/// Handles of what each process has there.
std::vector<MemoryHandle> handlesOf(const Exchange &exchange, std::string_view name, int gpu,
                                    const void *own) {
  const MemoryHandle handle = expectValue(exportMemory(gpu, own));
  std::vector<MemoryHandle> handles;
  for (const std::string &bytes :
       exchange.of(name, std::string(reinterpret_cast<const char *>(&handle), sizeof(handle)))) {
    REQUIRE(bytes.size() == sizeof(handle));
    std::memcpy(&handles.emplace_back(), bytes.data(), sizeof(handle));
  }
  return handles;
}

/// Memory of that name on all ranks.
using Addresses = std::function<SymmetricMemory(std::string_view name, size_t bytes)>;

std::shared_ptr<RankGroup> createGroup(size_t rank, size_t ranks, int gpu, const Addresses &addressesOf) {
  return expectValue(RankGroup::create(int64_t(rank), int64_t(ranks),
                                       addressesOf("flags", RankGroup::flagBytes),
                                       expectValue(createCudaFlags(gpu))));
}

Share addTo(RankGroup &group, size_t rank, const Addresses &addressesOf) {
  return [&group, rank, addressesOf](std::string_view name, size_t bytes) {
    SymmetricMemory memory = addressesOf(name, bytes);
    void *own = memory.ofRanks[rank];
    expectSuccess(group.add(std::move(memory)));
    return own;
  };
}

/// Memory of GPU `rank` in each process.
SymmetricMemory shareBetweenProcesses(const Exchange &exchange, Device &device, std::string_view name,
                                      size_t bytes) {
  const int gpu = device.properties().ordinal;
  void *own = expectValue(device.allocate(bytes + 256 * exchange.ranks));
  own = static_cast<std::byte *>(own) + 256 * exchange.rank; // places in allocations need not be the same
  initialize(device, name, own, bytes);
  SymmetricMemory memory{{}, bytes};
  for (const MemoryHandle &handle : handlesOf(exchange, name, gpu, own)) {
    const bool isOwn = memory.ofRanks.size() == exchange.rank;
    memory.ofRanks.push_back(isOwn ? own : expectValue(importMemory(gpu, handle)));
  }
  return memory;
}

/// Reaches another rank's memory from that rank's GPU, which nothing else holds in this process.
std::string importWithoutDevice(const Exchange &exchange, Device &device) {
  auto numbersOf = [](int rank) { return std::vector<float>(64, float(rank)); };
  const int gpu = device.properties().ordinal, other = (gpu + 1) % int(exchange.ranks);
  std::vector<float> numbers = numbersOf(gpu);
  const size_t bytes = numbers.size() * sizeof(float);
  void *own = expectValue(device.allocate(bytes));
  expectSuccess(device.copyToDevice(own, numbers.data(), bytes));
  const MemoryHandle handle = handlesOf(exchange, "memory", gpu, own)[size_t(other)];
  void *address = expectValue(importMemory(other, handle));
  const std::unique_ptr<Device> reader = expectValue(createCudaDevice(other));
  expectSuccess(reader->copyToHost(numbers.data(), address, bytes));
  expectSuccess(closeMemory(other, handle, address));
  (void)exchange.of("end", ""); // others may use this rank's memory
  return numbers == numbersOf(other) ? "works" : "wrong numbers";
}

} // namespace

TEST_CASE(testOfRank, "[.][process]") {
  const RankProcess process = RankProcess::current();
  const auto &[mode, exchange] = process;
  const int gpu = process.gpu();
  const std::unique_ptr<Device> device = expectValue(createCudaDevice(gpu));
  if (mode == "imports")
    process.end(importWithoutDevice(exchange, *device));
  auto addressesOf = [&](std::string_view name, size_t bytes) {
    return shareBetweenProcesses(exchange, *device, name, bytes);
  };
  std::shared_ptr<RankGroup> group = createGroup(exchange.rank, exchange.ranks, gpu, addressesOf);
  const Share share = addTo(*group, exchange.rank, addressesOf);
  RingRank rank(exchange.rank, exchange.ranks, gpu, std::move(group), share,
                {.byTransfer = mode == "transfers", .waits = mode != "disagrees" || !process.isLast()});
  std::string outcome;
  if (mode == "works" || mode == "transfers") {
    outcome = rank.passAround();
    (void)exchange.of("end", ""); // others may use this rank's memory
  } else {
    expectSuccess(rank.launch());
    if (mode == "dies") {
      expectSuccess(rank.synchronize());
      (void)exchange.of("launched", "");
      if (process.isLast())
        ::_exit(0);
      expectSuccess(rank.launch());
    }
    Result<void> done = rank.synchronize(1);
    outcome = done ? "no error" : done.error().message;
    if (!done && rank.launch().error().message != outcome)
      outcome = "launches again";
    rank.release();
  }
  process.end(outcome);
}

namespace {

/// Ranks of the ring that are groups of this process, on one GPU.
struct RingOnOneGpu {
  explicit RingOnOneGpu(const PassOptions &options = {}, const CompileOptions &compile = {}) {
    for (size_t rank = 0; rank < count; ++rank) {
      auto group = createGroup(rank, count, 0, addressesOf);
      const Share share = addTo(*group, rank, addressesOf);
      ranks.push_back(std::make_unique<RingRank>(rank, count, 0, std::move(group), share, options, compile));
    }
  }

  static constexpr size_t count = 2;
  const std::unique_ptr<Device> device = expectValue(createCudaDevice(0));
  std::map<std::string, SymmetricMemory, std::less<>> memories;
  const Addresses addressesOf = [&](std::string_view name, size_t bytes) {
    auto [found, isNew] = memories.try_emplace(std::string(name));
    for (size_t rank = 0; isNew && rank < count; ++rank) {
      found->second.ofRanks.push_back(expectValue(device->allocate(bytes)));
      initialize(*device, name, found->second.ofRanks.back(), bytes);
    }
    found->second.bytes = bytes;
    return found->second;
  };
  std::vector<std::unique_ptr<RingRank>> ranks;
};

} // namespace

TEST_CASE("ranks that are groups of one process pass tiles around on one GPU", "[ranks][groups]") {
  RingOnOneGpu ring;
  auto finish = [&] {
    for (auto &rank : ring.ranks) {
      expectSuccess(rank->synchronize());
      CHECK(rank->takeResult() == rank->expected());
    }
  };
  for (int i = 0; i < 20; ++i)
    for (auto &rank : ring.ranks)
      expectSuccess(rank->launch());
  finish();
  for (auto &rank : ring.ranks)
    rank->capture();
  for (int i = 0; i < 20; ++i)
    for (auto &rank : ring.ranks)
      rank->replay();
  finish();
}

TEST_CASE("a group tells what its ranks have waited for too long", "[ranks][waits]") {
  CompileOptions compile;
  compile.waitLimit = std::chrono::milliseconds(200);
  RingOnOneGpu ring({.announces = false}, compile);
  for (auto &rank : ring.ranks)
    expectSuccess(rank->launch());
  for (size_t rank = 0; rank < ring.count; ++rank) {
    CHECK_THAT(
        ring.ranks[rank]->synchronize().error().message,
        StartsWith(fmt::format("rank {}: 1 check failed", rank)) &&
            Contains(fmt::format("waited 0.2 s for at least 1 in 'arrived.of({})', which is 0", rank)));
    expectSuccess(ring.ranks[rank]->synchronize());
  }
}

TEST_CASE("ranks that are processes pass tiles around, also in graphs", "[ranks][processes]") {
  if (lacksGpus())
    return;
  const auto ranks = size_t(ranksUpTo(4));
  for (const char *mode : {"works", "transfers"})
    CHECK(outcomesOf(testOfRank, mode, ranks) == std::vector<std::string>(ranks, "works"));
}

TEST_CASE("memory of a process is reached by a GPU without a device here", "[ranks][processes]") {
  if (lacksGpus())
    return;
  CHECK(outcomesOf(testOfRank, "imports", 2) == std::vector<std::string>(2, "works"));
}

TEST_CASE("a process that ends is named by the others", "[ranks][processes]") {
  if (lacksGpus())
    return;
  const auto ranks = size_t(ranksUpTo(4));
  const std::vector<std::string> outcomes = outcomesOf(testOfRank, "dies", ranks);
  for (size_t rank = 0; rank + 1 < ranks; ++rank)
    CHECK(outcomes[rank] ==
          fmt::format("rank {}: rank {} has not come to the launch of 'test' within 1 s; the "
                      "stream may wait for ever, so end the process without synchronizing",
                      rank, ranks - 1));
}

TEST_CASE("processes whose programs differ say so, and the next ones work", "[ranks][processes]") {
  if (lacksGpus())
    return;
  const auto outcomes = outcomesOf(testOfRank, "disagrees", 2);
  for (size_t rank = 0; rank < 2; ++rank)
    CHECK_THAT(outcomes[rank],
               Contains(fmt::format("rank {}: rank {} launches another program, or one with other "
                                    "symmetric tensors or scalars: expected 0x",
                                    rank, 1 - rank)));
  CHECK(outcomesOf(testOfRank, "works", 2) == std::vector<std::string>(2, "works"));
}
