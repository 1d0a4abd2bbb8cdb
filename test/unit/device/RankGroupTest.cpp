// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks of which each has a group of its own: how they meet, and what a launch and memory must be.
#include "runtime/device/RankGroup.h"

#include "test/unit/device/LoggedRank.h"

#include <array>
#include <limits>
#include <random>

using namespace tlc;
using namespace tlc::test;
using Kind = FlagOperation::Kind;

TEST_CASE("a rank says to all that it has come, waits for all, and sets back what they said",
          "[device][ranks]") {
  LoggedRank rank(1, 3);
  const uint32_t launch = rank.numberOf(rank.arguments());
  CHECK(launch != 0);
  CHECK(rank.log.steps ==
        std::vector<std::string>{"check", "meet", "clear 4 bytes at 0x2018000", "meet", "launch"});
  auto place = [](uintptr_t of, uintptr_t word) {
    return static_cast<uint32_t *>(address(LoggedRank::apart * (of + 1) + 0x100)) + word;
  };
  auto meeting = [&](uintptr_t first) {
    std::vector<FlagOperation> operations = {{Kind::write, place(1, 17), launch}};
    for (uintptr_t to : {0, 1, 2})
      operations.push_back({Kind::write, place(to, first + 1), launch});
    for (uintptr_t from : {0, 1, 2})
      operations.push_back({Kind::wait, place(1, first + from), launch});
    if (first == maxRanks)
      operations.push_back({Kind::write, place(1, 16), launch});
    for (uintptr_t from : {0, 1, 2})
      operations.push_back({Kind::write, place(1, first + from), 0});
    return operations;
  };
  CHECK(rank.log.enqueued[0] == meeting(0));
  CHECK(rank.log.enqueued[1] == meeting(maxRanks));
}

TEST_CASE("one rank meets nobody", "[device][ranks]") {
  LoggedRank rank(0, 1);
  expectSuccess(rank.launch(rank.arguments()));
  CHECK(rank.log.enqueued.empty());
}

TEST_CASE("ranks that differ in what they must agree about have other numbers", "[device][ranks]") {
  LoggedRank rank(0), other(1);
  const uint32_t number = rank.numberOf(rank.arguments());
  CHECK(rank.numberOf(rank.arguments()) == number);
  CHECK(other.numberOf(other.arguments()) == number);
  CHECK(other.numberOf(other.arguments(4, 5)) == number); // a tensor that is not symmetric
  CHECK(other.numberOf(other.arguments(5)) != number);
  CHECK(other.numberOf(other.arguments(4, 4, 16)) != number);
  LaunchArguments scaled = other.arguments();
  scaled.scalars[0].bits = 2;
  CHECK(other.numberOf(scaled) != number);
  scaled.scalars[0].bits = (uint64_t(7) << 32) + 1; // of which 32 bits are the number's
  CHECK(other.numberOf(scaled) == number);
  LoggedRank ofMore(1, 2, LoggedRank::memoryBytes + 16);
  CHECK(ofMore.numberOf(ofMore.arguments()) != number);
  LoggedRank ofThree(0, 3);
  CHECK(ofThree.numberOf(ofThree.arguments()) != number);
  for (const auto &[name, ptx] : {std::pair("share", "other"), std::pair("other", "one")}) {
    other.program = sampleProgram(name, ptx);
    CHECK(other.numberOf(other.arguments()) != number);
  }
  auto copying = [](int64_t elements) {
    const std::vector zero = {HostExpr::constant(0)};
    Artifact artifact = sampleProgram()->artifact();
    artifact.variants[0].transfers = {{.name = "gather",
                                       .rounds = HostExpr::constant(1),
                                       .copies = {{.from = {0, HostExpr::constant(0), zero},
                                                   .to = {1, {}, zero},
                                                   .extents = {HostExpr::constant(elements)}}}}};
    return std::make_shared<HostProgram>(std::move(artifact));
  };
  rank.program = copying(4);
  other.program = copying(4);
  CHECK(rank.numberOf(rank.arguments()) != number);
  CHECK(rank.numberOf(rank.arguments()) == other.numberOf(other.arguments()));
  other.program = copying(3);
  CHECK(rank.numberOf(rank.arguments()) != other.numberOf(other.arguments()));
}

TEST_CASE("memory that follows other memory is where it is on another rank", "[device][ranks]") {
  // Next to the first memory on rank 0, apart from it on rank 1.
  const SymmetricMemory second{
      {address(LoggedRank::apart + 0x20000), address(2 * LoggedRank::apart + 0x30000)}, 256};
  std::array<uint32_t, 2> numbers = {};
  for (size_t rank = 0; rank < 2; ++rank) {
    LoggedRank one{int64_t(rank)};
    expectSuccess(one.group->add(second));
    LaunchArguments arguments = one.arguments();
    arguments.tensors[0].data = second.ofRanks[rank];
    numbers[rank] = one.numberOf(arguments);
  }
  CHECK(numbers[0] == numbers[1]);
}

TEST_CASE("ranks meet before they clear their counts and before they use those of others",
          "[device][ranks]") {
  constexpr size_t ranks = 3, launches = 300;
  struct Rank {
    alignas(4) std::array<uint32_t, 32> flags;
    alignas(256) std::array<uint32_t, 64> memory; // X, and the count
    std::array<float, 4> y;
  };
  std::array<Rank, ranks> memories = {};
  SymmetricMemory flags{{}, sizeof(Rank::flags)}, memory{{}, sizeof(Rank::memory)};
  alignas(256) std::array<std::array<uint32_t, 64>, ranks> counts = {};
  for (size_t rank = 0; rank < ranks; ++rank) {
    flags.ofRanks.push_back(memories[rank].flags.data());
    memory.ofRanks.push_back(memories[rank].memory.data());
  }
  SymmetricMemory ofCounts{{}, sizeof(counts[0])};
  for (auto &count : counts)
    ofCounts.ofRanks.push_back(count.data());
  auto program = sampleProgram();
  std::array<HostStream, ranks> streams;
  std::array<int, ranks> wrong = {};
  std::array<std::string, ranks> errors;
  std::vector<std::thread> processes;
  for (size_t rank = 0; rank < ranks; ++rank)
    processes.emplace_back([&, rank] {
      std::mt19937 random{uint32_t(rank + Catch::rngSeed())};
      HostStream &stream = streams[rank];
      // Each rank counts at all ranks, and waits until all have counted everywhere.
      HostDevice device(stream, [&](const LaunchArguments &arguments) {
        for (void *of : arguments.tensors[2].ofRanks)
          ++std::atomic_ref(*static_cast<uint32_t *>(of));
        for (void *of : arguments.tensors[2].ofRanks) {
          std::atomic_ref count(*static_cast<uint32_t *>(of));
          stream.waitFor([&] { return count.load() >= ranks; });
          wrong[rank] += count.load() > ranks;
        }
        if (random() % 8 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      });
      auto group = RankGroup::create(int64_t(rank), ranks, flags, std::make_unique<HostFlags>(stream));
      auto note = [&](const Result<void> &result) {
        if (!result)
          errors[rank] += result.error().message + "\n";
      };
      note((*group)->add(memory));
      note((*group)->add(ofCounts));
      const LaunchArguments arguments{
          .tensors = {contiguousView(memory.ofRanks[rank], ElementType::f32, {4}),
                      contiguousView(memories[rank].y.data(), ElementType::f32, {4}),
                      contiguousView(ofCounts.ofRanks[rank], ElementType::i32, {1})},
          .scalars = {{ElementType::f32, 1}}};
      for (size_t launch = 0; launch < launches; ++launch) {
        note((*group)->launch(device, program, arguments));
        if (random() % 16 == 0)
          note((*group)->synchronize());
      }
      note((*group)->synchronize());
    });
  for (std::thread &process : processes)
    process.join();
  for (size_t rank = 0; rank < ranks; ++rank) {
    CHECK(errors[rank] == "");
    CHECK(wrong[rank] == 0);
  }
}

namespace {

/// Of two ranks: flags, and X and the count. It is there before they are, and after them.
struct TwoRanks {
  alignas(256) std::array<std::array<uint32_t, 32>, 2> flags = {};
  alignas(256) std::array<std::array<uint32_t, 128>, 2> tensors = {};
  std::array<float, 4> y = {};

  static SymmetricMemory addressesOf(auto &words) {
    return {{words[0].data(), words[1].data()}, sizeof(words[0])};
  }
};

/// One of them, whose kernel does nothing.
struct OneOfTwo {
  OneOfTwo(TwoRanks &memory, size_t rank)
      : memory(memory), rank(rank), device(stream, [](const LaunchArguments &) {}),
        group(expectValue(RankGroup::create(int64_t(rank), 2, TwoRanks::addressesOf(memory.flags),
                                            std::make_unique<HostFlags>(stream)))) {
    expectSuccess(group->add(TwoRanks::addressesOf(memory.tensors)));
  }
  uint32_t &count() { return memory.tensors[rank][64]; }
  void launch() {
    expectSuccess(
        group->launch(device, program,
                      {.tensors = {contiguousView(memory.tensors[rank].data(), ElementType::f32, {4}),
                                   contiguousView(memory.y.data(), ElementType::f32, {4}),
                                   contiguousView(&count(), ElementType::i32, {1})},
                       .scalars = {{ElementType::f32, 1}}}));
  }

  TwoRanks &memory;
  const size_t rank;
  const std::shared_ptr<const LoadedProgram> program = sampleProgram();
  HostDevice device;
  std::unique_ptr<RankGroup> group;
  HostStream stream; ///< ends before what it uses
};

} // namespace

TEST_CASE("a rank waits for one that is started again, whatever the last one has said", "[device][ranks]") {
  TwoRanks memory;
  {
    OneOfTwo first(memory, 0);
    first.launch();
    while (std::atomic_ref(memory.flags[1][0]).load() == 0)
      std::this_thread::yield();
  } // before rank 1 has launched anything
  CHECK(memory.flags[1][0] != 0);
  for (auto &flags : memory.flags)
    flags.fill(0); // each rank its own, before the others have their address

  OneOfTwo second(memory, 1);
  second.count() = 99;
  second.launch();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(second.stream.isDone());
  CHECK(std::atomic_ref(second.count()).load() == 99);
  OneOfTwo first(memory, 0);
  for (int i = 0; i < 100; ++i) {
    first.launch();
    if (i > 0)
      second.launch();
  }
  expectSuccess(first.group->synchronize());
  expectSuccess(second.group->synchronize());
  CHECK(second.count() == 0);
  for (const auto &flags : memory.flags)
    for (size_t word = 0; word < 2 * maxRanks; ++word)
      CHECK(flags[word] == 0);
}

TEST_CASE("a rank that comes late to every launch ends no group", "[device][ranks]") {
  TwoRanks memory;
  OneOfTwo first(memory, 0), second(memory, 1);
  constexpr int launches = 100;
  for (int i = 0; i < launches; ++i)
    first.launch();
  std::thread late([&] {
    for (int i = 0; i < launches; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      second.launch();
    }
  });
  int again = 0;
  for (;; ++again) {
    Result<void> done = first.group->synchronize({}, std::chrono::duration<double>(0.4));
    if (done)
      break;
    CHECK_THAT(done.error().message, Catch::Contains("; synchronize again, or end the process"));
    if (first.group->remove(nullptr).error().message == done.error().message)
      break; // the group has ended
  }
  late.join();
  CHECK(again >= 1);
  expectSuccess(first.group->synchronize());
  expectSuccess(second.group->synchronize());
}

TEST_CASE("flags of ranks that cannot be are refused", "[device][ranks]") {
  auto refusal = [](int64_t rank, int64_t ranks, SymmetricMemory memory) {
    Log log;
    auto group = RankGroup::create(rank, ranks, std::move(memory), std::make_unique<LoggedFlags>(log));
    REQUIRE_FALSE(group);
    CHECK(group.error().kind == ErrorKind::invalidArgument);
    return group.error().message;
  };
  auto two = [](uintptr_t first, uintptr_t second, size_t bytes = 128) {
    return SymmetricMemory{{address(first), address(second)}, bytes};
  };
  CHECK(refusal(2, 2, two(0x100, 0x200)) ==
        "expected 1 to 8 ranks and the number of one of them, but got rank 2 of 2");
  CHECK(refusal(0, 9, {}) == "expected 1 to 8 ranks and the number of one of them, but got rank 0 of 9");
  CHECK(refusal(0, 3, two(0x100, 0x200)) == "expected addresses on 3 ranks, but got those on 2");
  CHECK(refusal(0, 2, two(0x100, 0x200, 64)) == "expected 128 bytes for the flags of a rank, but got 64");
  CHECK(refusal(0, 2, two(0x100, 0)) == "rank 1: expected the address of 128 bytes, but got null");
  CHECK(refusal(0, 2, two(0x100, 0x100)) ==
        "rank 1: expected memory of its own, but got 0x100, which is that of rank 0");
  CHECK(refusal(0, 2, two(0x100, 0x202)) == "rank 1: expected flags at a multiple of 4, but got 0x202");
}

TEST_CASE("memory is added once and removed by its address", "[device][ranks]") {
  LoggedRank rank(0);
  auto memory = [&](uintptr_t offset, size_t bytes) { return LoggedRank::memoryAt(2, offset, bytes); };
  CHECK(rank.group->add(memory(0x30000, 0)).error().message ==
        "expected at least 1 byte of memory, but got 0");
  CHECK(rank.group->add(memory(0x1FFFF, 16)).error().message ==
        "expected memory that the group does not have yet, but the 16 bytes at 0x101ffff overlap the 65536 "
        "bytes at 0x1010000; remove those first");
  CHECK(rank.group->add(memory(0x30000, std::numeric_limits<size_t>::max())).error().message ==
        "rank 0: expected memory that ends in the address space, but got 18446744073709551615 bytes at "
        "0x1030000");
  CHECK(
      rank.group->add(memory(0x30000, std::numeric_limits<size_t>::max() - 0x2030000 + 1)).error().message ==
      "rank 1: expected memory that ends in the address space, but got 18446744073675800576 bytes at "
      "0x2030000");
  CHECK(rank.group->add({{rank.at(0)}, 16}).error().message ==
        "expected addresses on 2 ranks, but got those on 1");
  expectSuccess(rank.group->add(memory(0x20000, 16)));
  expectSuccess(rank.group->remove(rank.at(0)));
  CHECK(rank.group->remove(rank.at(0)).error().message ==
        "expected the address of memory that was added, but got 0x1010000");
}

TEST_CASE("a launch of one rank checks its own arguments first", "[device][ranks]") {
  LoggedRank rank(1);
  LaunchArguments arguments = rank.arguments();
  CHECK(rank.launch(arguments, 3).error().message ==
        "rank 1: expected a program of GPU 0, as the group is, but got one of GPU 3");
  arguments.tensors[0].data = address(0x70000000);
  CHECK(
      rank.refusal(arguments) ==
      "rank 1: argument 'X': expected memory that was added to the group because it is symmetric, but the 16 "
      "bytes at 0x70000000 are in none of its 1 parts");
  CHECK(
      rank.refusal(rank.arguments(5, 4, LoggedRank::memoryBytes - 16)) ==
      "rank 1: argument 'X': expected memory that was added to the group because it is symmetric, but the 20 "
      "bytes at 0x201fff0 are in none of its 1 parts");
  arguments = rank.arguments();
  arguments.tensors[0].strides = {};
  CHECK(rank.refusal(arguments) == "rank 1: argument 'X': expected 1 strides, but got 0");
  arguments.tensors[0].strides = {-1};
  CHECK(rank.refusal(arguments) ==
        "rank 1: argument 'X' axis 0: expected a stride of at least 0, but got -1");
  arguments = rank.arguments();
  arguments.tensors[0].data = nullptr;
  CHECK(rank.refusal(arguments) == "rank 1: argument 'X': expected the address of 16 bytes, but got null");
  arguments.tensors.pop_back();
  arguments.tensors[0].data = rank.at(0);
  CHECK(rank.refusal(arguments) ==
        "rank 1: 'share' expects 3 tensors, its workspaces last, but got only the 2 "
        "inputs and outputs");
  expectSuccess(rank.launch(rank.arguments(0)));
}
