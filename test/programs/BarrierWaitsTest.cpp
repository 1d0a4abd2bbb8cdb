// SPDX-License-Identifier: Apache-2.0
/// \file
/// Waits on mbarriers that nothing ends, with a limit: the report says which barrier, role, phase and line.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

CompileOptions limited() {
  CompileOptions options;
  options.waitLimit = std::chrono::milliseconds(200);
  return options;
}

/// Lines of the waits below.
int putLine = 0, getLine = 0, waitLine = 0;

/// A role fills slots with the n rows of X, another one gets m of them and copies them to Y.
Program handedRows() {
  return Program::trace("handed_rows", [](Scope &k) {
    Index n = k.dim("n"), m = k.dim("m");
    Global X = k.input("X", f32, {n, 64}), Y = k.inout("Y", f32, {m, 64});
    [[maybe_unused]] auto [block] = k.grid(1);
    Shared tile = k.shared("tile", f32, {1, 64}, {.slots = 2});
    Channel rows = k.channel("rows", {.slots = 2});
    k.roles([&] {
      k.role("fill", {.warps = 4}, [&] {
        k.loop(n, [&](Index row) {
          Fragment x = k.fragment(f32, {1, 64});
          copy(X.tile({row, 0}, {1, 64}), x);
          putLine = __LINE__ + 1;
          rows.put([&](const Slot &at) { copy(x, tile.slot(at)); });
        });
      });
      k.role("take", {.warps = 4}, [&] {
        k.loop(m, [&](Index row) {
          Fragment y = k.fragment(f32, {1, 64});
          getLine = __LINE__ + 1;
          Slot at = rows.get();
          copy(tile.slot(at), y);
          rows.release();
          copy(y, Y.tile({row, 0}, {1, 64}));
        });
      });
    });
  });
}

/// A role that waits for phase n - 1 of a barrier, at which another one arrives once.
Program awaitedPhase() {
  return Program::trace("awaited_phase", [](Scope &k) {
    Index n = k.dim("n");
    Global Y = k.inout("Y", f32, {n});
    [[maybe_unused]] auto [block] = k.grid(1);
    Barrier passed = k.barrier("passed", 128);
    k.roles([&] {
      k.role("arrive", {.warps = 4}, [&] { passed.arrive(); });
      k.role("wait", {.warps = 8}, [&] {
        waitLine = __LINE__ + 1;
        passed.wait(n - 1);
        Fragment one = k.fragment(f32, {8});
        one = 1.0f;
        copy(one, Y.tile({0}, {8}));
      });
    });
  });
}

std::string failureOf(const Artifact &artifact, const std::vector<Memory *> &tensors) {
  Result<void> done = tryRun(artifact, tensors);
  REQUIRE(!done);
  CHECK(done.error().kind == ErrorKind::execution);
  return done.error().message;
}

/// n rows, whose numbers all differ.
Memory numberedRows(int64_t n) {
  Memory rows = Memory::filled(ElementType::f32, {n, 64}, 0);
  for (size_t i = 0; i < rows.values.size(); ++i)
    rows.values[i] = double(i);
  return rows;
}

} // namespace

TEST_CASE("waits for slots that nothing fills or empties are reported", "[waits]") {
  const Artifact artifact = compiled(handedRows(), limited());
  Memory x = numberedRows(5), more = Memory::filled(ElementType::f32, {6, 64}, -1),
         fewer = Memory::filled(ElementType::f32, {2, 64}, -1),
         all = Memory::filled(ElementType::f32, {5, 64}, -1);
  const std::string unfilled = failureOf(artifact, {&x, &more});
  CHECK_THAT(unfilled,
             StartsWith("4 checks failed\n") && Contains(fmt::format("BarrierWaitsTest.cpp:{}:", getLine)) &&
                 Contains("'handed_rows' waited 0.2 s in role 'take' for slot 1 of channel 'rows' to be full "
                          "(phase parity 0)"));
  CHECK_THAT(unfilled, !Contains("deadlock"));
  const std::string unread = failureOf(artifact, {&x, &fewer});
  CHECK_THAT(
      unread,
      Contains(fmt::format("BarrierWaitsTest.cpp:{}:", putLine)) &&
          Contains("'handed_rows' waited 0.2 s in role 'fill' for slot 0 of channel 'rows' to be empty "
                   "(phase parity 1)"));
  run(artifact, {&x, &all});
  CHECK(all.values == x.values);
}

TEST_CASE("a wait for a phase that never ends is reported", "[waits]") {
  const Artifact artifact = compiled(awaitedPhase(), limited());
  Memory one = Memory::filled(ElementType::f32, {1}, 0), two = Memory::filled(ElementType::f32, {2}, 0);
  CHECK_THAT(
      failureOf(artifact, {&two}),
      StartsWith("8 checks failed\n") && Contains(fmt::format("BarrierWaitsTest.cpp:{}:", waitLine)) &&
          Contains("'awaited_phase' waited 0.2 s in role 'wait' for barrier 'passed' to complete phase 1"));
  run(artifact, {&one});
  CHECK(one.values == std::vector<double>{1});
}

TEST_CASE("without a limit programs with barriers read no clock", "[waits]") {
  const std::string without = compiled(handedRows()).variants.front().ptx,
                    with = compiled(handedRows(), limited()).variants.front().ptx;
  CHECK_THAT(without, Contains("mbarrier.try_wait") && !Contains("globaltimer") && !Contains("reports$"));
  CHECK_THAT(with, Contains("mbarrier.try_wait") && Contains("%globaltimer") && !Contains("call"));
}
