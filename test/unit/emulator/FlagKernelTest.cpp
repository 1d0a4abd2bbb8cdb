// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel by which streams write flags of ranks and wait for them.
#include "runtime/device/FlagKernel.h"

#include "runtime/emulator/exec/launch/Grid.h"
#include "test/Expect.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::test;
using Kind = FlagOperation::Kind;

namespace {

/// Performs them as a stream does, on words of the host. Threads may call it, of devices that share
/// `progress`.
Result<void> perform(std::span<const FlagOperation> operations, std::span<uint32_t> words,
                     const std::string &target = "sm_90a", Progress *progress = nullptr) {
  Result<std::shared_ptr<const Program>> loaded = loadProgram(flagKernelText);
  if (!loaded)
    return loaded.error();
  const Program &program = **loaded;
  std::vector<MemoryRange> ranges = program.ranges;
  ranges.push_back({reinterpret_cast<uint64_t>(words.data()), words.size_bytes()});
  const MemoryMap memory(std::move(ranges));
  Machine machine;
  machine.target = findTarget(target);
  machine.progress = progress;
  if (Result<void> runs = checkTarget(program, *machine.target); !runs)
    return runs;
  for (const FlagBatch &batch : batchesOf(operations)) {
    LaunchConfiguration launch;
    launch.entry = flagKernelName;
    launch.block = {uint32_t(FlagBatch::capacity), 1, 1};
    launch.parameters = std::as_bytes(std::span(&batch, 1));
    if (auto done = runGrid(program, launch, memory, machine); !done)
      return done.error();
  }
  return {};
}

} // namespace

TEST_CASE("operations of one kind at different addresses are one step", "[ranks]") {
  std::array<uint32_t, 3> words = {};
  const std::array operations = {
      FlagOperation{Kind::write, &words[0], 5}, FlagOperation{Kind::write, &words[1], 6},
      FlagOperation{Kind::wait, &words[0], 5},  FlagOperation{Kind::wait, &words[1], 6},
      FlagOperation{Kind::write, &words[0], 7}, FlagOperation{Kind::write, &words[0], 8},
      FlagOperation{Kind::write, &words[1], 9}};
  const std::vector<FlagBatch> batches = batchesOf(operations);
  REQUIRE(batches.size() == 1);
  CHECK(batches[0].count == operations.size());
  CHECK(batches[0].steps == 4);
  std::vector<int> steps, waits;
  for (size_t i = 0; i < operations.size(); ++i) {
    const FlagBatch::Operation &packed = batches[0].operations[i];
    CHECK(packed.address == operations[i].address);
    CHECK(packed.value == operations[i].value);
    steps.push_back(packed.step);
    waits.push_back(packed.waits);
  }
  CHECK(steps == std::vector{0, 0, 1, 1, 2, 3, 3});
  CHECK(waits == std::vector{0, 0, 1, 1, 0, 0, 0});
}

TEST_CASE("more operations than a warp has lanes are several launches", "[ranks]") {
  std::vector<uint32_t> words(77, 0);
  std::vector<FlagOperation> operations;
  for (size_t i = 0; i < words.size(); ++i)
    operations.push_back({Kind::write, &words[i], uint32_t(i + 1)});
  CHECK(batchesOf(operations).size() == 3);
  CHECK(batchesOf({}).empty());
  expectSuccess(perform(operations, words));
  for (size_t i = 0; i < words.size(); ++i)
    CHECK(words[i] == i + 1);
}

TEST_CASE("the kernel of flags performs steps in their order on every target", "[ranks]") {
  const std::string target = GENERATE("sm_80", "sm_90a", "sm_100a");
  std::array<uint32_t, 4> words = {1, 2, 3, 4};
  expectSuccess(perform(
      std::array{FlagOperation{Kind::wait, &words[0], 1}, FlagOperation{Kind::wait, &words[3], 4},
                 FlagOperation{Kind::write, &words[0], 10}, FlagOperation{Kind::write, &words[0], 11},
                 FlagOperation{Kind::wait, &words[0], 11}, FlagOperation{Kind::write, &words[1], 0xffffffff}},
      words, target));
  CHECK(words == std::array<uint32_t, 4>{11, 0xffffffff, 3, 4});
}

TEST_CASE("a flag that is not written is waited for", "[ranks]") {
  std::array<uint32_t, 2> words = {1, 0};
  Result<void> done = perform(
      std::array{FlagOperation{Kind::wait, &words[0], 2}, FlagOperation{Kind::write, &words[1], 1}}, words);
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::execution);
  CHECK(words == std::array<uint32_t, 2>{1, 0});
}

TEST_CASE("ranks meet by kernels of flags, many times", "[ranks]") {
  // As `RankGroup` meets: two kinds of meetings, whose flags are set back in turns.
  constexpr size_t ranks = 3;
  constexpr uint32_t times = 40;
  std::vector<uint32_t> words(2 * ranks * ranks, 0);
  std::array<uint32_t, ranks> come = {};
  auto place = [&](size_t of, size_t meeting, size_t from) {
    return &words[(of * 2 + meeting) * ranks + from];
  };
  std::array<std::string, ranks> errors;
  Progress progress(ranks);
  auto run = [&](size_t rank) {
    for (uint32_t time = 1; time <= times; ++time) {
      for (size_t meeting : {0, 1}) {
        std::atomic_ref(come[rank]).store(2 * time + uint32_t(meeting));
        std::vector<FlagOperation> operations;
        for (size_t to = 0; to < ranks; ++to)
          operations.push_back({Kind::write, place(to, meeting, rank), time});
        for (size_t from = 0; from < ranks; ++from)
          operations.push_back({Kind::wait, place(rank, meeting, from), time});
        for (size_t from = 0; from < ranks; ++from)
          operations.push_back({Kind::write, place(rank, meeting, from), 0});
        if (Result<void> met = perform(operations, words, "sm_90a", &progress); !met)
          errors[rank] = met.error().message;
        for (size_t other = 0; other < ranks; ++other)
          if (std::atomic_ref(come[other]).load() < 2 * time + meeting)
            errors[rank] = "a rank has not come";
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back(run, rank);
  for (std::thread &thread : threads)
    thread.join();
  CHECK(errors == std::array<std::string, ranks>{});
  CHECK(words == std::vector<uint32_t>(words.size(), 0));
}
