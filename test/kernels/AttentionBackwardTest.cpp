// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward with its options, and tiles and keys that take other ways, at small
/// sizes.
#include "kernels/Registry.h"
#include "test/kernels/KernelRuns.h"
#include "test/kernels/OptionPairs.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using namespace tlc::attention_matrix;

TEST_CASE("attention backward is right with every value of its options, and every pair of the ends",
          "[kernels][attention]") {
  const std::vector<Option> options = backwardOptions(gradientRows());
  checkOptions("attention_bwd", options, Cover::values, {.longest = 100});
  checkOptions("attention_bwd", atTheirEnds(options), Cover::pairs, {.longest = 100});
}

// Of tools/test.sh long.
TEST_CASE("attention backward is right with every pair of all its options", "[.long]") {
  checkOptions("attention_bwd", backwardOptions(gradientRows()), Cover::pairs, {.longest = 100});
}

TEST_CASE("gradients of tiles of 64 keys are right however dQ is summed up", "[kernels][attention][narrow]") {
  const Kernel &kernel = **findKernel("attention_bwd");
  for (const char *dq : {"atomic", "tma", "ordered", "own_launch"}) {
    Compiled compiled(kernel,
                      {{"form", "explicit"}, {"d", "192"}, {"dv", "128"}, {"dq", dq}, {"causal", "right"}});
    for (auto [queries, keys] : {std::pair("197", "130"), {"1", "65"}, {"64", "0"}})
      compiled.check({{"b", "1"}, {"sq", queries}, {"sk", keys}, {"h", "2"}, {"hkv", "1"}});
  }
  Compiled capped(kernel, {{"form", "explicit"}, {"d", "256"}, {"softcap", "2"}, {"window", "70"}});
  capped.check({{"b", "2"}, {"sq", "129"}, {"sk", "190"}, {"h", "1"}, {"hkv", "1"}});
}

TEST_CASE("tiles of 64 keys are right where blocks take them and have a head of Q each",
          "[kernels][attention][narrow]") {
  const Kernel &kernel = **findKernel("attention_bwd");
  for (const char *dq : {"atomic", "tma", "own_launch"}) {
    Compiled compiled(kernel, {{"form", "explicit"},
                               {"d", "256"},
                               {"dq", dq},
                               {"dkv", "atomic"},
                               {"dealing", "taken"},
                               {"causal", "right"}});
    compiled.check({{"b", "2"}, {"sq", "100"}, {"sk", "190"}, {"h", "4"}, {"hkv", "2"}});
  }
}

namespace {
void checkUnseen(const Definitions &more) {
  Definitions definitions = {{"form", "explicit"}, {"causal", "left"}};
  definitions.insert(more.begin(), more.end());
  Compiled compiled(**findKernel("attention_bwd"), definitions);
  compiled.check({{"b", "2"}, {"sq", "21"}, {"sk", "390"}, {"h", "4"}, {"hkv", "2"}});
}
} // namespace

TEST_CASE("keys that no query sees have gradients of zero", "[kernels][attention][narrow]") {
  checkUnseen({{"d", "64"}, {"dkv", "loop"}, {"dq", "ordered"}});
  checkUnseen({{"d", "256"}, {"dkv", "split"}});
  checkUnseen({{"d", "64"}, {"dkv", "atomic"}});
  checkUnseen({{"d", "40"}, {"dkv", "loop"}, {"unseen", "own_launch"}});
  checkUnseen(
      {{"d", "256"}, {"dkv", "loop"}, {"unseen", "own_launch"}, {"window", "9"}, {"gradients", "f32"}});
}

// Of tools/test.sh long.
TEST_CASE("keys that no query sees have gradients of zero in rows of any length", "[.long]") {
  for (const char *d : {"64", "256"})
    for (const char *dkv : {"loop", "split", "atomic"})
      checkUnseen({{"d", d}, {"dkv", dkv}});
  checkUnseen({{"d", "256"}, {"dkv", "loop"}, {"gradients", "f32"}});
}
