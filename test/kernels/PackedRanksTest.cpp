// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention of packed sequences that several ranks have is right at any lengths, which divide nothing.
#include "runtime/emulator/EmulatorDevice.h"
#include "test/Expect.h"
#include "test/kernels/CompileOnce.h"
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using tlc::test::expectValue;

namespace {

constexpr const char *names[] = {"attention_fwd_sharded", "attention_bwd_sharded"};

Definitions merged(Definitions into, const Definitions &more) {
  for (const auto &[name, value] : more)
    into[name] = value;
  return into;
}

/// Small tiles, so that sequences have several.
Definitions programOf(std::string_view kernel, const Definitions &choices) {
  Definitions all = merged({{"d", "32"}, {"bq", "64"}, {"varlen", "1"}}, choices);
  if (kernel == names[0])
    all.try_emplace("bk", "32");
  return all;
}

/// A sequence over several ranks, sequences within one, empty ones, and others that have only queries or only
/// keys; with room for more, the last ranks have none of them.
const std::vector<Definitions> lengths = {
    {{"varlen", "7,0,101,1,38"}},
    {{"varlen", "70,0,3,64"}, {"varlen_k", "9,5,0,150"}},
    {{"varlen", "0,0"}, {"varlen_k", "3,0"}},
    {{"varlen", "20,53"}, {"varlen_k", "31,54"}, {"sq", "74"}, {"sk", "90"}},
};

/// Lengths up to there, of so many sequences at most; some are 0.
std::string drawLengths(Random &random, size_t count, int64_t longest) {
  std::vector<int64_t> drawn;
  for (size_t i = 0; i < count; ++i)
    drawn.push_back(random() % 4 == 0 ? 0 : int64_t(random() % uint64_t(longest + 1)));
  return fmt::format("{}", fmt::join(drawn, ","));
}

} // namespace

namespace {
/// Each program at every size, or at every other one.
void checkSizes(size_t step) {
  const Definitions heads = {{"h", "2"}, {"hkv", "1"}}, few = {{"varlen", "3,0,21"}};
  const std::vector<Definitions> choices = {
      {{"order", "contiguous"}, {"form", "explicit"}, {"causal", "right"}},
      {{"order", "zigzag"}, {"form", "plain"}, {"window", "40"}, {"window_right", "20"}, {"sink", "yes"}},
  };
  const std::pair<Definitions, const char *> sizes[] = {
      {few, "1"}, {lengths[0], "3"}, {lengths[1], "4"}, {lengths[2], "2"}, {lengths[3], "3"}, {few, "8"}};
  size_t first = 0;
  for (const char *name : names)
    for (const Definitions &options : choices) {
      Compiled compiled(**findKernel(name), programOf(name, options));
      for (size_t i = first++ % step; i < std::size(sizes); i += step)
        compiled.check(merged(merged(sizes[i].first, heads), {{"ranks", sizes[i].second}}));
    }
}
} // namespace

TEST_CASE("attention of packed sequences is right on any number of ranks", "[kernels][ranks][packed_ranks]") {
  checkSizes(2);
}

// Of tools/test.sh long.
TEST_CASE("attention of packed sequences is right at every size on any number of ranks", "[.long]") {
  checkSizes(1);
}

TEST_CASE("ranks that exchange heads of packed sequences are right", "[kernels][ranks][packed_ranks]") {
  for (const auto &[name, order] : {std::pair(names[0], "contiguous"), {names[1], "zigzag"}}) {
    Compiled compiled(
        **findKernel(name),
        programOf(name,
                  {{"exchange", "heads"}, {"order", order}, {"form", "explicit"}, {"causal", "right"}}));
    for (const Definitions &size : {lengths[0], lengths[3]})
      compiled.check(merged(size, {{"h", "3"}, {"hkv", "3"}, {"ranks", "2"}}));
  }
}

// A tile of keys that begins on one rank and ends on the next waits for both, and for those of the sequence
// after this one that it has, too.
TEST_CASE("keys of packed sequences that copy engines fetch are waited for, however late they come",
          "[kernels][ranks][packed_ranks]") {
  for (const char *name : names)
    for (const Definitions &options :
         {Definitions{{"order", "zigzag"}, {"form", "explicit"}, {"causal", "right"}},
          Definitions{{"order", "contiguous"}, {"form", "plain"}}}) {
      const Kernel &kernel = **findKernel(name);
      Definitions definitions = merged(merged(programOf(name, options), lengths[0]),
                                       {{"gather", "copy_engine"}, {"h", "2"}, {"hkv", "1"}, {"ranks", "3"}});
      CAPTURE(name, definitions);
      Request request = expectValue(Request::parse(kernel, definitions));
      std::shared_ptr<const Artifact> artifact = compileOnce(request, {});
      auto problem = expectValue(Problem::create(request, {.seed = 3}));
      for (TransferTime time : {TransferTime::early, TransferTime::late}) {
        auto devices = createEmulatorDevices(3, {.multiprocessors = 2, .transfers = time});
        CHECK(expectValue(expectValue(KernelRun::create(devices, problem, artifact)).verify()).correct());
      }
    }
}

// Of tools/test.sh long.
TEST_CASE("each choice of attention of packed sequences on ranks is right at lengths that are drawn",
          "[.long]") {
  Random random(Catch::rngSeed());
  for (const char *name : names)
    for (const Definitions &choices : choicesOf(**findKernel(name), random, Cover::pairs)) {
      Definitions program = programOf(name, choices);
      if (!Request::parse(name, completed(**findKernel(name), program)))
        continue; // block-causal masks, and sums that packed sequences have not
      Compiled compiled(**findKernel(name), program);
      const Definitions heads = choices.at("exchange") == "heads" ? Definitions{{"h", "16"}, {"hkv", "8"}}
                                                                  : Definitions{{"h", "2"}, {"hkv", "1"}};
      for (const char *ranks : {"1", "2", "3", "5", "8"}) {
        const size_t count = 1 + random() % 5;
        compiled.check(merged(heads, {{"varlen", drawLengths(random, count, 150)},
                                      {"varlen_k", drawLengths(random, count, 150)},
                                      {"ranks", ranks}}));
      }
    }
}

// Of tools/test.sh long.
TEST_CASE("attention of packed sequences on ranks has the same bits in every order", "[.long]") {
  for (const char *name : names)
    for (const char *exchange : {"gather", "heads"}) {
      Definitions definitions =
          merged(programOf(name, {{"exchange", exchange}, {"order", "zigzag"}, {"causal", "right"}}),
                 merged(lengths[0], {{"h", "6"}, {"hkv", "3"}, {"ranks", "3"}}));
      if (name == names[1])
        definitions["deterministic"] = "yes";
      Request request = expectValue(Request::parse(**findKernel(name), definitions));
      std::shared_ptr<const Artifact> artifact = compileOnce(request, {});
      auto problem = expectValue(Problem::create(request, {.seed = 3}));
      std::optional<Hash128> first;
      for (uint64_t schedule = 0; schedule < 8; ++schedule) {
        EmulatorOptions options{.multiprocessors = schedule % 2 == 0 ? 2 : 1};
        if (schedule > 0)
          options.scheduleSeed = schedule;
        auto devices = createEmulatorDevices(3, options);
        Verdict verdict = expectValue(expectValue(KernelRun::create(devices, problem, artifact)).verify());
        CHECK(verdict.correct());
        CHECK(verdict.outputs == first.value_or(verdict.outputs));
        first = verdict.outputs;
      }
    }
}
