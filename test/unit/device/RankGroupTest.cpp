// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks of which each has a group of its own: how they meet, and what is said where they do not.
#include "runtime/device/RankGroup.h"

#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"
#include "test/unit/device/HostRank.h"
#include "test/unit/device/SampleArguments.h"

#include <array>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <random>

using namespace tlc;
using namespace tlc::test;
using Kind = FlagOperation::Kind;

namespace {

/// X, which is symmetric, Y, which is not, and a count.
std::shared_ptr<const LoadedProgram> sampleProgram(const std::string &name = "share",
                                                   const std::string &ptx = "one") {
  return std::make_shared<HostProgram>(
      Artifact{.name = name,
               .target = "sm_90a",
               .dimensions = {{.name = "N"}, {.name = "M"}},
               .tensors = {{.name = "X", .shape = {{.dimension = 0}}, .symmetric = true},
                           {.name = "Y", .access = Access::output, .shape = {{.dimension = 1}}},
                           {.name = "count",
                            .element = ElementType::i32,
                            .access = Access::workspace,
                            .workspaceShape = {HostExpr::constant(1)},
                            .zeroFill = true,
                            .symmetric = true}},
               .variants = {{.name = "general", .ptx = ptx}}});
}

/// What a rank's flags and device are asked for.
struct Log {
  std::vector<std::vector<FlagOperation>> enqueued;
  std::vector<std::string> steps;
  std::vector<uint32_t> words = std::vector<uint32_t>(17);
  bool isDone = false;
  std::optional<Error> refusal, unreadable;
};

class LoggedFlags final : public StreamFlags {
public:
  explicit LoggedFlags(Log &log) : log(log) {}
  int ordinal() const override { return 0; }
  Result<void> enqueue(std::span<const FlagOperation> operations, Stream) override {
    if (log.refusal)
      return *log.refusal;
    log.enqueued.emplace_back(operations.begin(), operations.end());
    log.steps.emplace_back("meet");
    return {};
  }
  Result<void> run(std::span<const FlagOperation> operations) override { return enqueue(operations, {}); }
  Result<bool> isDone(Stream) override { return log.isDone; }
  Result<std::vector<uint32_t>> read(const uint32_t *, size_t count) override {
    if (log.unreadable)
      return *log.unreadable;
    REQUIRE(count == log.words.size());
    return log.words;
  }

private:
  Log &log;
};

class LoggedDevice final : public RankDevice {
public:
  LoggedDevice(Log &log, int ordinal) : RankDevice(ordinal), log(log) {}
  Result<void> launch(const LoadedProgram &, const LaunchArguments &, Stream) override {
    log.steps.emplace_back("launch");
    return {};
  }
  Result<void> clear(void *address, size_t bytes, Stream) override {
    log.steps.push_back(fmt::format("clear {} bytes at {}", bytes, fmt::ptr(address)));
    return {};
  }

private:
  Log &log;
};

/// Rank `rank` with flags and memory at made-up addresses, of which nobody reads or writes anything.
struct LoggedRank {
  static constexpr uintptr_t apart = 0x1000000, memoryBytes = 0x10000;

  explicit LoggedRank(int64_t rank = 0, int64_t ranks = 2)
      : group(expectValue(
            RankGroup::create(rank, ranks, memoryAt(ranks, 0x100, 128), std::make_unique<LoggedFlags>(log)))),
        rank(rank) {
    expectSuccess(group->add(memoryAt(ranks, 0x10000, memoryBytes)));
    log.steps.clear();
    log.enqueued.clear();
  }

  static SymmetricMemory memoryAt(int64_t ranks, uintptr_t offset, size_t bytes) {
    SymmetricMemory memory{{}, bytes};
    for (int64_t of = 0; of < ranks; ++of)
      memory.ofRanks.push_back(address(apart * uintptr_t(of + 1) + offset));
    return memory;
  }
  void *at(uintptr_t offset) const { return address(apart * uintptr_t(rank + 1) + 0x10000 + offset); }
  LaunchArguments arguments(int64_t n = 4, int64_t m = 4, uintptr_t offset = 0) const {
    return {.tensors = {contiguousView(at(offset), ElementType::f32, {n}),
                        contiguousView(address(0x70000000), ElementType::f32, {m}),
                        contiguousView(at(0x8000), ElementType::i32, {1})}};
  }
  Result<void> launch(const LaunchArguments &arguments, int ordinal = 0) {
    LoggedDevice device(log, ordinal);
    return group->launch(device, program, arguments);
  }
  std::string refusal(const LaunchArguments &arguments) {
    Result<void> launched = launch(arguments);
    REQUIRE_FALSE(launched);
    CHECK(log.enqueued.empty());
    return launched.error().message;
  }
  /// What ranks must agree about.
  uint32_t numberOf(const LaunchArguments &arguments) {
    log.enqueued.clear();
    Result<void> launched = launch(arguments);
    INFO((launched ? "" : launched.error().message));
    REQUIRE(launched);
    return log.enqueued.front().front().value;
  }
  /// What `synchronize` says, and then everything else.
  std::string late() {
    Result<void> done = group->synchronize({}, std::chrono::duration<double>(0.02));
    REQUIRE_FALSE(done);
    CHECK(done.error().kind == ErrorKind::execution);
    const std::string message = done.error().message;
    CHECK(launch(arguments()).error().message == message);
    CHECK(group->synchronize().error().message == message);
    CHECK(group->add({}).error().message == message);
    CHECK(group->remove(nullptr).error().message == message);
    return message;
  }

  Log log;
  std::shared_ptr<const LoadedProgram> program = sampleProgram();
  std::unique_ptr<RankGroup> group;
  int64_t rank;
};

constexpr std::string_view wayOut =
    "; the stream may wait for ever, so end the process without synchronizing";

} // namespace

TEST_CASE("a rank says to all that it has come, waits for all, and sets back what they said",
          "[device][ranks]") {
  LoggedRank rank(1, 3);
  const uint32_t launch = rank.numberOf(rank.arguments());
  CHECK(launch != 0);
  CHECK(rank.log.steps == std::vector<std::string>{"meet", "clear 4 bytes at 0x2018000", "meet", "launch"});
  auto place = [](uintptr_t of, uintptr_t word) {
    return static_cast<uint32_t *>(address(LoggedRank::apart * (of + 1) + 0x100)) + word;
  };
  auto meeting = [&](uintptr_t first) {
    std::vector<FlagOperation> operations;
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
  LoggedRank ofThree(0, 3);
  CHECK(ofThree.numberOf(ofThree.arguments()) != number);
  for (const auto &[name, ptx] : {std::pair("share", "other"), std::pair("other", "one")}) {
    other.program = sampleProgram(name, ptx);
    CHECK(other.numberOf(other.arguments()) != number);
  }
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
  std::array<std::array<uint32_t, 64>, ranks> counts = {};
  for (size_t rank = 0; rank < ranks; ++rank) {
    memories[rank].flags.fill(7); // nobody clears them
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
                      contiguousView(ofCounts.ofRanks[rank], ElementType::i32, {1})}};
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

TEST_CASE("after the limit a rank says which one has not come", "[device][ranks]") {
  LoggedRank rank(0, 4);
  const uint32_t launch = rank.numberOf(rank.arguments());
  rank.log.words[0] = launch;
  SECTION("one") {
    rank.log.words[1] = rank.log.words[3] = launch;
    CHECK(rank.late() ==
          fmt::format("rank 0: rank 2 has not come to the launch of 'share' within 0.02 s{}", wayOut));
  }
  SECTION("several") {
    rank.log.words[2] = launch;
    CHECK(rank.late() ==
          fmt::format("rank 0: ranks 1, 3 have not come to the launch of 'share' within 0.02 s{}", wayOut));
  }
  SECTION("to clear its counts") {
    rank.log.words[0] = 0;
    for (size_t from : {0, 1, 3})
      rank.log.words[maxRanks + from] = launch;
    CHECK(rank.late() == fmt::format("rank 0: rank 2 has come to the launch of 'share', but has not cleared "
                                     "its counts within 0.02 s{}",
                                     wayOut));
  }
  SECTION("and which one launches something else") {
    const uint32_t other = rank.numberOf(rank.arguments(5));
    rank.log.words[1] = other;
    rank.log.words[2] = 0xABC;
    CHECK(
        rank.late() ==
        fmt::format("rank 0: rank 1 launches another program, or one with other symmetric tensors: expected "
                    "{0:#010x} of 'share', but got {1:#010x} of 'share'; rank 2 launches another program, or "
                    "one with other symmetric tensors: expected {0:#010x} of 'share', but got 0x00000abc; "
                    "rank 3 has not come to the launch of 'share' within 0.02 s{2}",
                    launch, other, wayOut));
  }
}

TEST_CASE("after the limit a rank says that all have come", "[device][ranks]") {
  LoggedRank rank(1);
  SECTION("and the launch does not end") {
    rank.log.words[16] = rank.numberOf(rank.arguments());
    CHECK(rank.late() == fmt::format("rank 1: all ranks have come to the launch of 'share', but it, or what "
                                     "follows it on the stream, has not ended within 0.02 s{}",
                                     wayOut));
  }
  SECTION("or that nothing was launched") {
    CHECK(rank.late() == fmt::format("rank 1: what is on the stream before the first launch of the group has "
                                     "not ended within 0.02 s{}",
                                     wayOut));
  }
  SECTION("or that it does not know") {
    rank.log.unreadable = Error{ErrorKind::execution, "no copy"};
    CHECK(rank.late() ==
          fmt::format("rank 1: the stream has not ended within 0.02 s, and the flags cannot be "
                      "read: no copy{}",
                      wayOut));
  }
}

TEST_CASE("a group whose launch was enqueued in part is of no use any more", "[device][ranks]") {
  LoggedRank rank(0);
  rank.log.refusal = Error{ErrorKind::environment, "no operations"};
  CHECK(rank.launch(rank.arguments()).error().message == "rank 0: no operations");
  rank.log.refusal.reset();
  CHECK(rank.launch(rank.arguments()).error().message == "rank 0: no operations");
}

TEST_CASE("a group whose stream ends in time waits no longer", "[device][ranks]") {
  LoggedRank rank(0);
  rank.log.isDone = true;
  expectSuccess(rank.group->synchronize());
  expectSuccess(rank.group->synchronize({}, std::nullopt));
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
