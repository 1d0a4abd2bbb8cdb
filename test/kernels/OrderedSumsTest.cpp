// SPDX-License-Identifier: Apache-2.0
/// \file
/// dQ that blocks add up in a fixed order: the same bits however many blocks run at once, and no deadlock.
#include "kernels/Registry.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/Expect.h"
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using tlc::test::expectValue;

TEST_CASE("dQ in order has the same bits with any number of multiprocessors", "[kernels][attention]") {
  Definitions definitions = {{"dq", "ordered"}, {"deterministic", "yes"}};
  auto add = [&](const Definitions &more) { definitions.insert(more.begin(), more.end()); };
  add(GENERATE(Definitions{{"form", "explicit"}}, Definitions{{"form", "plain"}}));
  add(GENERATE(
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
      Definitions{{"h", "2"}, {"hkv", "1"}, {"varlen", "100,0,65,230"}, {"causal", "right"}}));
  INFO(describe(*expectValue(findKernel("attention_bwd")), definitions));
  Request request = expectValue(Request::parse("attention_bwd", definitions));
  std::optional<Hash128> bits;
  Library library;
  for (int multiprocessors : {1, 2, 3, 132}) {
    INFO(multiprocessors << " multiprocessors");
    std::unique_ptr<Device> device = createEmulatorDevice({.multiprocessors = multiprocessors});
    CompileLog log;
    auto artifact = expectValue(library.compile(request, {}, log));
    KernelRun run = expectValue(KernelRun::create(*device, request, artifact, {.seed = 7}));
    Verdict verdict = expectValue(run.verify());
    CHECK(verdict.complaint == "");
    CHECK((!bits || *bits == verdict.outputs));
    bits = verdict.outputs;
  }
}
