// SPDX-License-Identifier: Apache-2.0
/// \file
/// Blocks that order by counts what they do to a tensor: by loads and stores of threads, by the TMA, in
/// roles.
#include "compiler/dsl/Counts.h"

#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"
#include "test/programs/FormsRecord.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t rows = 64, columns = 64, blocks = 7;

/// y = 2 y + number, so that every other order gives another result.
void expectInOrder(Program program, const std::vector<int> &multiprocessors = {1, 2, 3, 132}) {
  Artifact artifact = compiled(std::move(program));
  double expected = 1;
  for (int64_t number = 0; number < blocks; ++number)
    expected = 2 * expected + double(number);
  for (int count : multiprocessors) {
    INFO(count << " multiprocessors");
    Memory y = Memory::filled(bf16, {rows, columns}, 1);
    Memory started = Memory::filled(i32, {1}, 7), done = started; // the launch clears them
    run(artifact, {&y, &started, &done}, count);
    CHECK(y.values == Memory::filled(bf16, {rows, columns}, expected).values);
  }
}

struct Counts {
  explicit Counts(Scope &k)
      : Y(k.inout("Y", bf16, {rows, columns}, {.alignment = 16})),
        started(k.workspace("started", i32, {1}, {Initial::zero})),
        done(k.workspace("done", i32, {1}, {Initial::zero})) {}
  Slice all() const { return Y.tile({0, 0}, {rows, columns}); }
  Global Y, started, done;
};

/// One role waits for the block's turn and says that it is over, another one computes.
Program inRoles() {
  return Program::trace("in_roles", [](Scope &k) {
    Counts c(k);
    [[maybe_unused]] auto [block] = k.grid(blocks);
    Index number = take(c.started, {0});
    Channel turns = k.channel("turns", {.slots = 1}), stored = k.channel("stored", {.slots = 1});
    k.roles([&] {
      k.role("turns", {.warps = 4}, [&] {
        turns.put([&](const Slot &) { waitFor(c.done, {0}, number); });
        stored.get(); // when all warps have stored
        announce(c.done, {0});
      });
      k.role("math", {.warps = 8}, [&] {
        Fragment y = k.fragment(bf16, {rows, columns});
        turns.get();
        copy(c.all(), y);
        copy((y.to(f32) * 2 + number.to(f32)).to(bf16), c.all());
        stored.put();
      });
    });
  });
}

/// Both ways through shared memory by the TMA.
Program byCopyEngine() {
  return Program::trace("by_copy_engine", [](Scope &k) {
    Counts c(k);
    [[maybe_unused]] auto [block] = k.grid(blocks);
    Index number = take(c.started, {0});
    Shared tile = k.shared("tile", bf16, {rows, columns}, {.slots = 1});
    Channel loaded = k.channel("full", {.slots = 1}), changed = k.channel("changed", {.slots = 1});
    k.roles([&] {
      k.role("memory", {.warps = 1}, [&] {
        waitFor(c.done, {0}, number);
        loaded.put([&](const Slot &at) { copy(c.all(), tile.slot(at)); });
        copy(tile.slot(changed.get()), c.all());
        announce(c.done, {0});
      });
      k.role("math", {.warps = 4}, [&] {
        Fragment y = k.fragment(bf16, {rows, columns});
        copy(tile.slot(loaded.get()), y);
        changed.put([&](const Slot &at) { copy((y.to(f32) * 2 + number.to(f32)).to(bf16), tile.slot(at)); });
      });
    });
  });
}

/// Threads store what the next block loads by the TMA.
Program mixed() {
  return Program::trace("mixed", [](Scope &k) {
    Counts c(k);
    [[maybe_unused]] auto [block] = k.grid(blocks);
    Index number = take(c.started, {0});
    Shared tile = k.shared("tile", bf16, {rows, columns}, {.slots = 1});
    Channel loaded = k.channel("full", {.slots = 1});
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        waitFor(c.done, {0}, number);
        loaded.put([&](const Slot &at) { copy(c.all(), tile.slot(at)); });
      });
      k.role("math", {.warps = 4}, [&] {
        Fragment y = k.fragment(bf16, {rows, columns});
        copy(tile.slot(loaded.get()), y);
        copy((y.to(f32) * 2 + number.to(f32)).to(bf16), c.all());
        announce(c.done, {0});
      });
    });
  });
}

Program byThreads() {
  return Program::trace("by_threads", [](Scope &k) {
    Counts c(k);
    k.warps(4);
    [[maybe_unused]] auto [block] = k.grid(blocks);
    Index number = take(c.started, {0});
    Fragment y = k.fragment(bf16, {rows, columns});
    waitFor(c.done, {0}, number);
    copy(c.all(), y);
    copy((y.to(f32) * 2 + number.to(f32)).to(bf16), c.all());
    announce(c.done, {0});
  });
}

} // namespace

TEST_CASE("blocks take turns at a tensor", "[counts]") {
  SECTION("by loads and stores") { expectInOrder(byThreads()); }
  SECTION("a role waits for others") { expectInOrder(inRoles()); }
  SECTION("by the TMA") { expectInOrder(byCopyEngine()); }
  SECTION("stores, then the TMA") { expectInOrder(mixed()); }
}

TEST_CASE("the numbers that roles and rounds of a loop take are all different", "[counts]") {
  Artifact artifact = compiled(Program::trace("numbers", [](Scope &k) {
    Global Y = k.inout("Y", i32, {100}), c = k.workspace("c", i32, {1}, {Initial::zero});
    [[maybe_unused]] auto [block] = k.grid(4);
    auto mark = [&] { atomicAdd(Scalar(1), Y.tile({take(c, {0})}, {1})); };
    k.loop(3, [&](Index) { mark(); });
    k.roles([&] {
      k.role("one", {.warps = 4}, [&] { k.loop(2, [&](Index) { mark(); }); });
      k.role("two", {.warps = 8}, [&] { mark(); });
    });
  }));
  Memory y = Memory::filled(i32, {100}, 0), counts = Memory::filled(i32, {1}, 7);
  run(artifact, {&y, &counts});
  for (int64_t number = 0; number < 100; ++number)
    CHECK(y.at({number}) == (number < 4 * (3 + 2 + 1) ? 1 : 0));
}

TEST_CASE("a wait ends at its limit, as do those after it, and the next launch is right", "[counts]") {
  CompileOptions options;
  options.waitLimit = std::chrono::milliseconds(200);
  // Two blocks announce, and one waits for n of them, again and again.
  Program program = Program::trace("patient", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", i32, {n}), Y = k.output("Y", i32, {1});
    Global done = k.workspace("done", i32, {3, 4}, {Initial::zero});
    auto [block] = k.grid(2);
    announce(done, {2, 1});
    k.when(block == 1, [&] {
      k.loop(1000, [&](Index) { waitFor(done, {2, 1}, n); });
      Fragment x = k.fragment(i32, {1});
      copy(X.tile({0}, {1}), x);
      copy(x, Y.tile({0}, {1}));
    });
  });
  Artifact artifact = compiled(std::move(program), options);
  std::unique_ptr<Device> device = openDevice(artifact.target, 3);
  std::shared_ptr<const LoadedProgram> loaded = expectValue(device->load(artifact));
  auto allocate = [&](std::vector<int32_t> numbers) {
    void *memory = expectValue(device->allocate(numbers.size() * sizeof(int32_t)));
    expectSuccess(device->copyToDevice(memory, numbers.data(), numbers.size() * sizeof(int32_t)));
    return memory;
  };
  void *x = allocate({7, 8, 9}), *y = allocate({0}), *counts = allocate(std::vector<int32_t>(12));
  auto resultOf = [&](int64_t n) -> Result<void> {
    LaunchArguments arguments;
    arguments.tensors = {contiguousView(x, i32, {n}), contiguousView(y, i32, {1}),
                         contiguousView(counts, i32, {3, 4})};
    Result<void> done = device->launch(*loaded, arguments);
    if (done)
      done = device->synchronize();
    noteForms(*device, artifact.variants[chooseVariant(artifact, arguments.tensors)].ptx);
    return done;
  };
  Result<void> late = resultOf(3);
  REQUIRE(!late);
  CHECK(late.error().kind == ErrorKind::execution);
  const std::string &message = late.error().message;
  CHECK_THAT(message,
             Catch::Matchers::StartsWith("1 check failed\n  ") &&
                 Catch::Matchers::Contains("CountsTest.cpp:") &&
                 Catch::Matchers::Contains(": check failed in block (1, 0, 0), thread ") &&
                 Catch::Matchers::EndsWith(
                     ", element (2, 1): 'patient' waited 0.2 s for at least 3 in 'done', which is 2"));
  expectSuccess(resultOf(2));
  int32_t result = 0;
  expectSuccess(device->copyToHost(&result, y, sizeof(result)));
  CHECK(result == 7);
}
