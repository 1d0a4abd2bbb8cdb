// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gradients that have the same bits however many blocks run at once, among them dQ that blocks add up in a
/// fixed order, without a deadlock.
#include "kernels/Registry.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/Expect.h"
#include "test/kernels/CompileOnce.h"
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using tlc::test::expectValue;

namespace {
/// Runs with each number of multiprocessors are right and have the same bits.
void checkSameBits(const Definitions &definitions, std::initializer_list<int> multiprocessors) {
  INFO(describe(*expectValue(findKernel("attention_bwd")), definitions));
  Request request = expectValue(Request::parse("attention_bwd", definitions));
  std::optional<Hash128> bits;
  std::shared_ptr<const Artifact> artifact = compileOnce(request);
  auto problem = expectValue(Problem::create(request, {.seed = 7}));
  for (int count : multiprocessors) {
    INFO(count << " multiprocessors");
    std::unique_ptr<Device> device = createEmulatorDevice({.multiprocessors = count});
    KernelRun run = expectValue(KernelRun::create(*device, problem, artifact));
    Verdict verdict = expectValue(run.verify());
    CHECK(verdict.complaint == "");
    CHECK((!bits || *bits == verdict.outputs));
    bits = verdict.outputs;
  }
}

const std::vector<Definitions> problems = {
    Definitions{{"b", "1"}, {"sq", "200"}, {"sk", "400"}, {"h", "4"}, {"hkv", "2"}, {"dkv", "loop"}},
    Definitions{{"b", "2"},
                {"sq", "300"},
                {"sk", "257"},
                {"h", "2"},
                {"hkv", "1"},
                {"dkv", "split"},
                {"causal", "right"}},
    Definitions{{"b", "1"},
                {"sq", "400"},
                {"sk", "400"},
                {"h", "1"},
                {"hkv", "1"},
                {"causal", "left"},
                {"window", "70"}},
    Definitions{{"b", "1"},
                {"sq", "384"},
                {"sk", "384"},
                {"h", "1"},
                {"hkv", "1"},
                {"mask", "block_causal"},
                {"block", "24"}},
    Definitions{{"b", "2"},
                {"sq", "200"},
                {"sk", "300"},
                {"h", "2"},
                {"hkv", "1"},
                {"padded", "100,33"},
                {"padded_k", "300,20"}},
    Definitions{{"h", "2"}, {"hkv", "1"}, {"varlen", "100,0,65,230"}, {"causal", "right"}}};

void checkOrdered(const std::string &form, Definitions definitions,
                  std::initializer_list<int> multiprocessors) {
  definitions.insert({{"form", form}, {"dq", "ordered"}, {"deterministic", "yes"}});
  checkSameBits(definitions, multiprocessors);
}

/// With one or more sequences of one problem, and groups of heads of the other.
void checkDeterministic(int count, std::initializer_list<int> multiprocessors) {
  Definitions definitions = {{"deterministic", "yes"}};
  auto add = [&](const Definitions &more) { definitions.insert(more.begin(), more.end()); };
  add(GENERATE(Definitions{{"form", "explicit"}}, Definitions{{"form", "explicit"}, {"dealing", "taken"}},
               Definitions{{"form", "plain"}}));
  const std::string number = std::to_string(count), heads = std::to_string(2 * count);
  add(GENERATE_COPY(
      Definitions{{"b", number},
                  {"sq", "300"},
                  {"sk", "400"},
                  {"h", "4"},
                  {"hkv", "2"},
                  {"dkv", "loop"},
                  {"causal", "right"}},
      Definitions{{"h", heads}, {"hkv", number}, {"dkv", "split"}, {"varlen", "300,0,129,500"}}));
  checkSameBits(definitions, multiprocessors);
}

} // namespace

TEST_CASE("dQ in order has the same bits with any number of multiprocessors", "[kernels][attention]") {
  for (size_t i = 0; i < problems.size(); ++i)
    checkOrdered(i % 2 == 0 ? "explicit" : "plain", problems[i], {1, 132});
}

TEST_CASE("dQ of tiles of 64 keys in order has the same bits with any number of multiprocessors",
          "[kernels][attention][narrow]") {
  checkOrdered("explicit",
               {{"b", "1"},
                {"sq", "130"},
                {"sk", "300"},
                {"h", "2"},
                {"hkv", "1"},
                {"d", "192"},
                {"dv", "128"},
                {"causal", "right"}},
               {1, 3});
}

TEST_CASE("deterministic gradients have the same bits with any number of multiprocessors",
          "[kernels][attention]") {
  checkDeterministic(1, {1, 132});
}

// Of tools/test.sh long.
TEST_CASE("dQ in order has the same bits in every problem and form", "[.long]") {
  for (const char *form : {"explicit", "plain"})
    for (const Definitions &problem : problems)
      checkOrdered(form, problem, {1, 2, 3, 132});
}

TEST_CASE("deterministic gradients have the same bits with 60 multiprocessors", "[.long]") {
  checkDeterministic(2, {1, 60, 132});
}
