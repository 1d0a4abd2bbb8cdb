// SPDX-License-Identifier: Apache-2.0
/// \file
/// A rank whose group has flags and a device that note what they are asked for, and say what a test wants.
#pragma once

#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"
#include "test/unit/device/HostRank.h"
#include "test/unit/device/SampleArguments.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <utility>

namespace tlc::test {

/// X, which is symmetric, Y, which is not, and a count.
inline std::shared_ptr<const LoadedProgram> sampleProgram(const std::string &name = "share",
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
               .scalars = {{.name = "factor"}},
               .variants = {{.name = "general", .ptx = ptx}}});
}

/// What a rank's flags and device are asked for.
struct Log {
  std::vector<std::vector<FlagOperation>> enqueued;
  std::vector<std::string> steps;
  std::vector<uint32_t> words = std::vector<uint32_t>(18);
  bool isMoving = false; ///< the stream comes to meetings
  bool isDone = false, isCaptured = false, isAbandoned = false;
  std::optional<Error> refusal, unreadable, unqueryable, reported;
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
  Result<void> write(uint32_t, std::span<uint32_t *const>) override {
    log.words.back() = log.isMoving ? 1 : 0;
    return {};
  }
  Result<bool> isCaptured(Stream) override { return log.isCaptured; }
  Result<bool> isDone(Stream) override {
    if (log.unqueryable)
      return *log.unqueryable;
    return log.isDone;
  }
  Result<std::vector<uint32_t>> read(const uint32_t *, size_t count) override {
    if (log.unreadable)
      return *log.unreadable;
    if (count == 1)
      return std::vector{log.words.back()};
    REQUIRE(count == log.words.size());
    return log.words;
  }
  void abandon() override { log.isAbandoned = true; }

private:
  Log &log;
};

class LoggedDevice final : public RankDevice {
public:
  LoggedDevice(Log &log, int ordinal) : RankDevice(ordinal), log(log) {}
  Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &program,
                                                  const LaunchArguments &arguments) override {
    log.steps.emplace_back("check");
    return RankDevice::prepare(program, arguments);
  }
  Result<void> enqueue(const LaunchArguments &) override {
    log.steps.emplace_back("launch");
    return {};
  }
  Result<void> clear(void *address, size_t bytes, Stream) override {
    log.steps.push_back(fmt::format("clear {} bytes at {}", bytes, fmt::ptr(address)));
    return {};
  }
  Result<void> synchronize(Stream) override {
    log.steps.emplace_back("reports");
    if (log.reported)
      return *std::exchange(log.reported, {});
    return {};
  }

private:
  Log &log;
};

/// Rank `rank` with flags and memory at made-up addresses, of which nobody reads or writes anything.
struct LoggedRank {
  static constexpr std::chrono::duration<double> usualLimit{0.02};
  static constexpr uintptr_t apart = 0x1000000, memoryBytes = 0x10000;

  explicit LoggedRank(int64_t rank = 0, int64_t ranks = 2, size_t bytes = memoryBytes)
      : group(expectValue(
            RankGroup::create(rank, ranks, memoryAt(ranks, 0x100, 128), std::make_unique<LoggedFlags>(log)))),
        rank(rank) {
    expectSuccess(group->add(memoryAt(ranks, 0x10000, bytes)));
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
                        contiguousView(at(0x8000), ElementType::i32, {1})},
            .scalars = {{ElementType::f32, 1}}};
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
  /// What `synchronize` says, while the group can be used further on.
  std::string notYet(std::chrono::duration<double> limit = usualLimit) {
    Result<void> done = group->synchronize({}, limit);
    REQUIRE_FALSE(done);
    CHECK(done.error().kind == ErrorKind::execution);
    CHECK(log.isAbandoned);
    expectSuccess(launch(arguments()));
    log.isDone = true;
    expectSuccess(group->synchronize({}, limit));
    log.isDone = false;
    return done.error().message;
  }
  /// What `synchronize` says, and then everything else.
  std::string late() {
    Result<void> done = group->synchronize({}, usualLimit);
    REQUIRE_FALSE(done);
    CHECK(done.error().kind == ErrorKind::execution);
    CHECK(log.isAbandoned);
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

} // namespace tlc::test
