// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prints and checks, from the program to their texts.
#include "runtime/artifact/Reports.h"

#include "test/Expect.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

using Lines = std::vector<std::string>;

/// What a launch says: prints, and the failed checks in its error; without places, which a test of the
/// language looks at.
struct Said {
  Lines prints, failures;
};

/// Which thread reports for all is not said.
std::string textOf(std::string_view line) {
  const size_t place = line.find(": ");
  std::string text(place == line.npos ? line : line.substr(place + 2));
  size_t from = text.find(", thread "), to = text.find_first_of(",:", from + 1);
  return from == text.npos ? text : text.substr(0, from) + text.substr(to);
}

Said launched(const Artifact &artifact) {
  Said said;
  std::unique_ptr<Device> device = openDevice(artifact.target, 3, [&](std::string_view text) {
    said.prints.push_back(textOf(text.substr(0, text.size() - 1)));
  });
  std::shared_ptr<const LoadedProgram> loaded = expectValue(device->load(artifact));
  Result<void> done = device->launch(*loaded, {});
  if (done)
    done = device->synchronize();
  if (done)
    return said;
  CHECK(done.error().kind == ErrorKind::execution);
  std::string_view text = done.error().message;
  for (size_t at = text.find("\n  "); at != text.npos; at = text.find("\n  ", at + 1))
    said.failures.push_back(textOf(text.substr(at + 3, text.find('\n', at + 1) - at - 3)));
  return said;
}
Said launched(Program program) { return launched(compiled(std::move(program))); }

/// 16 i + j
FragmentValue numbers(Scope &k) { return k.positions({16, 16}, 0) * 16 + k.positions({16, 16}, 1); }

} // namespace

TEST_CASE("one thread of a block prints numbers and positions", "[programs][reports]") {
  Said said = launched(Program::trace("numbers", [](Scope &k) {
    auto [x, y] = k.grid(2, 2);
    k.warps(4);
    k.print("begin");
    k.when(x == 1, [&] { k.print("x {} y {}, {} {}", x, y * 10, 7, 0.5); });
  }));
  CHECK(said.prints == Lines{"block (0, 0, 0): begin", "block (1, 0, 0): begin",
                             "block (1, 0, 0): x 1 y 0, 7 0.5", "block (0, 1, 0): begin",
                             "block (1, 1, 0): begin", "block (1, 1, 0): x 1 y 10, 7 0.5"});
  CHECK(said.failures.empty());
}

TEST_CASE("the first elements of fragments and shared tiles are printed", "[programs][reports]") {
  Lines expected;
  for (int i = 0; i < int(maxPrintedExtent); ++i)
    for (int j = 0; j < int(maxPrintedExtent); ++j)
      expected.push_back(fmt::format("block (0, 0, 0), element ({}, {}): x {}", i, j, 16 * i + j));
  std::ranges::sort(expected);
  for (bool isShared : {false, true}) {
    Said said = launched(Program::trace("elements", [&](Scope &k) {
      Shared tile = k.shared("tile", f16, {16, 16});
      copy(numbers(k).to(f16), tile);
      isShared ? k.print("x {}", tile) : k.print("x {}", numbers(k));
    }));
    std::ranges::sort(said.prints);
    CHECK(said.prints == expected);
  }
}

TEST_CASE("an element that several threads hold is printed once", "[programs][reports]") {
  Said said = launched(Program::trace("replicas", [](Scope &k) {
    k.warps(2);
    k.print("{} {}", rowMax(numbers(k)), 1);
  }));
  CHECK(said.prints.size() == size_t(maxPrintedExtent));
  CHECK(std::ranges::count_if(said.prints, [](const std::string &line) {
          return line.ends_with("element (3, 0): 63 1");
        }) == 1);
}

TEST_CASE("a check that fails is an error with its values", "[programs][reports]") {
  Said said = launched(Program::trace("numbers", [](Scope &k) {
    auto [x] = k.grid(4);
    k.check(x >= 0, "always");
    k.check(x < 3, "expected a block below {}, but got {}", 3, x);
  }));
  CHECK(said.prints.empty());
  CHECK(said.failures == Lines{"check failed in block (3, 0, 0): expected a block below 3, but got 3"});
}

TEST_CASE("each thread reports the first of its elements that fails", "[programs][reports]") {
  Said one = launched(Program::trace("one", [](Scope &k) {
    FragmentValue x = numbers(k);
    k.check(x != 37, "got {} in row of {}", x, rowMax(x));
  }));
  CHECK(one.failures == Lines{"check failed in block (0, 0, 0), element (2, 5): got 37 in row of 47"});
  Said all = launched(Program::trace("all", [](Scope &k) {
    k.warps(1);
    FragmentValue x = numbers(k);
    k.check(x < 0, "got {}", x);
  }));
  CHECK(all.failures.size() == 8 + 1); // of 32 threads, and how many more there are
}

TEST_CASE("each report is told once, whatever launches and synchronisations there are",
          "[programs][reports]") {
  Artifact artifact = compiled(Program::trace("again", [](Scope &k) { k.print("here"); }));
  int prints = 0;
  std::unique_ptr<Device> device = openDevice(artifact.target, 3, [&](std::string_view) { ++prints; });
  std::shared_ptr<const LoadedProgram> first = expectValue(device->load(artifact)),
                                       second = expectValue(device->load(artifact));
  for (int round = 1; round <= 3; ++round) {
    for (const auto &program : {first, second, first})
      expectSuccess(device->launch(*program, {}));
    expectSuccess(device->synchronize());
    expectSuccess(device->synchronize());
    CHECK(prints == 3 * round);
  }
}

TEST_CASE("a program that is released reports what it was launched for", "[programs][reports]") {
  Artifact artifact = compiled(Program::trace("released", [](Scope &k) { k.print("here"); }));
  int prints = 0;
  std::unique_ptr<Device> device = openDevice(artifact.target, 3, [&](std::string_view) { ++prints; });
  expectSuccess(device->launch(*expectValue(device->load(artifact)), {}));
  expectSuccess(device->synchronize());
  CHECK(prints == 1);
}

TEST_CASE("who takes a print may launch the program again", "[programs][reports]") {
  Artifact artifact = compiled(Program::trace("again", [](Scope &k) { k.print("here"); }));
  std::unique_ptr<Device> device;
  std::shared_ptr<const LoadedProgram> loaded;
  int prints = 0;
  device = openDevice(artifact.target, 3, [&](std::string_view) {
    if (++prints == 1)
      expectSuccess(device->launch(*loaded, {}));
  });
  loaded = expectValue(device->load(artifact));
  expectSuccess(device->launch(*loaded, {}));
  expectSuccess(device->synchronize());
  expectSuccess(device->synchronize());
  CHECK(prints == 2);
}

TEST_CASE("reports that the buffer has no room for are counted", "[programs][reports]") {
  constexpr int lost = 904;
  Said said = launched(Program::trace(
      "many", [](Scope &k) { k.loop(int64_t(reportCapacity) + lost, [&](Index i) { k.print("{}", i); }); }));
  REQUIRE(said.prints.size() == reportCapacity + 1);
  CHECK(said.prints[17] == "block (0, 0, 0): 17");
  CHECK(said.prints.back() == "each program has room for 4096 between two synchronisations");
  CHECK(said.failures.empty());
}

TEST_CASE("a check that fails is an error even if there is no room for its record", "[programs][reports]") {
  Said said = launched(Program::trace("crowded", [](Scope &k) {
    k.warps(1);
    k.loop(int64_t(reportCapacity) - 1, [&](Index i) { k.print("{}", i); });
    k.loop(3, [&](Index i) { k.check(i < 0, "got {}", i); });
  }));
  CHECK(said.prints.size() == reportCapacity); // the last one says that some were lost
  CHECK(said.failures ==
        Lines{"check failed in block (0, 0, 0): got 0", "2 of them found no room for a record"});
}

TEST_CASE("prints of many blocks hide no check that fails", "[programs][reports]") {
  Said said = launched(Program::trace("blocks", [](Scope &k) {
    auto [block] = k.grid(128);
    k.print("{}", k.positions({8, 8}, 0));
    k.check(block < 100, "got {}", block);
  }));
  CHECK(!said.failures.empty());
}

namespace {

constexpr int64_t depth = 256;

/// Products by wgmma in a pipelined loop, with reports that never are made; a tile per block, or several.
Program product(bool hasReports, bool isPersistent = false) {
  return Program::trace("product", [&](Scope &k) {
    Index m = k.dim("m", {.multipleOf = 8});
    Global A = k.input("A", bf16, {m, depth}, {.alignment = 16}),
           B = k.input("B", bf16, {depth, 64}, {.alignment = 16});
    Global C = k.output("C", f32, {m, 64}, {.alignment = 16});
    Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {64, 64});
    auto tile = [&](Index i) {
      Fragment acc = k.fragment(f32, {128, 64});
      k.pipelined(depth / 64, {.stages = 3}, [&](Index s) {
        copy(A.tile({i * 128, s * 64}, {128, 64}), a);
        copy(B.tile({s * 64, 0}, {64, 64}), b);
        gemm(a, b, acc);
        if (hasReports) {
          k.check(s * 64 < m + depth, "expected a step within the tensor, but got {}", s);
          k.when(s > m + depth, [&] { k.print("step {}", s); });
        }
      });
      if (hasReports) {
        k.check(acc < 1e30f, "expected a small sum, but got {}", acc);
        k.when(m < 0, [&] { k.print("{}", acc); });
      }
      copy(acc, C.tile({i * 128, 0}, {128, 64}));
      if (hasReports)
        k.when(i > m, [&] { k.print("stored {}", i); });
    };
    if (isPersistent)
      return k.persistent({ceilDiv(m, 128)}, {}, tile);
    auto [i] = k.grid(ceilDiv(m, 128));
    tile(i);
  });
}

size_t countIn(const Artifact &artifact, std::string_view instruction) {
  size_t count = 0;
  const std::string &ptx = artifact.variants[0].ptx;
  for (size_t at = 0; (at = ptx.find(instruction, at)) != ptx.npos; ++at)
    ++count;
  return count;
}

} // namespace

TEST_CASE("checks leave roles, copies and products as they are", "[programs][reports]") {
  bool isPersistent = GENERATE(false, true);
  CAPTURE(isPersistent);
  Artifact with = compiled(product(true, isPersistent)), without = compiled(product(false, isPersistent));
  CHECK(with.variants[0].reports.size() == 5);
  CHECK(countIn(without, "wgmma.mma_async") > 0);
  for (std::string_view instruction :
       {"wgmma.mma_async", "wgmma.wait_group", "cp.async.bulk.tensor", "setmaxnreg", "bar.sync"}) {
    INFO(instruction);
    CHECK(countIn(with, instruction) == countIn(without, instruction));
  }
  for (std::string_view slow : {"call", "vprintf", ".local"}) {
    INFO(slow);
    CHECK(countIn(with, slow) == countIn(without, slow));
  }
  const Launch &launch = with.variants[0].launches[0], &other = without.variants[0].launches[0];
  CHECK(launch.threads == other.threads);
  CHECK(launch.sharedBytes == other.sharedBytes);
  CHECK(launch.tensorMaps.size() == other.tensorMaps.size());
  CHECK(launch.names.roles.size() == other.names.roles.size());
  CHECK(with.remarks.size() == without.remarks.size());
}

TEST_CASE("switched off, a program is as if it had no reports", "[programs][reports]") {
  CompileOptions options;
  options.optimizations.reports = false;
  Artifact off = compiled(product(true), options), none = compiled(product(false));
  CHECK(off.variants[0].reports.empty());
  CHECK(off.variants[0].ptx == none.variants[0].ptx);
  CHECK(countIn(none, "reports") == 0);
}

TEST_CASE("checks in roles that hold are silent, and the products right", "[programs][reports]") {
  Artifact artifact = compiled(product(true));
  Memory a = Memory::filled(bf16, {128, depth}, 1), b = Memory::filled(bf16, {depth, 64}, 0.5);
  Memory c = Memory::filled(f32, {128, 64}, notANumber);
  run(artifact, {&a, &b, &c});
  CHECK(c.values == Memory::filled(f32, {128, 64}, 0.5 * depth).values);
}
