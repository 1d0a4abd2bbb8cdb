// SPDX-License-Identifier: Apache-2.0
/// \file
/// What .target directives mean.
#include "runtime/target/CodeTarget.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace tlc;

TEST_CASE("PTX runs on later devices, its f form in the family, its a form on its own device", "[target]") {
  const auto runs = [](std::string_view name, int major, int minor) {
    return parseCodeTarget(name)->runsOn(major, minor);
  };
  CHECK(runs("sm_75", 8, 0));
  CHECK(runs("sm_80", 10, 0));
  CHECK_FALSE(runs("sm_90", 8, 0));
  CHECK(runs("sm_90a", 9, 0));
  CHECK_FALSE(runs("sm_90a", 10, 0));
  CHECK(runs("sm_100f", 10, 0));
  CHECK(runs("sm_100f", 10, 3));
  CHECK_FALSE(runs("sm_100f", 10, 1)); // Thor before CUDA 13
  CHECK(runs("sm_101f", 10, 1));
  CHECK_FALSE(runs("sm_100f", 12, 0));
  CHECK_FALSE(runs("sm_103f", 10, 0));
  for (std::string_view name : {"", "sm_", "sm_x", "sm_9", "sm_90b", "compute_90", "sm_90aa"})
    CHECK_FALSE(parseCodeTarget(name));
}

TEST_CASE("instructions are where the manual has them", "[target]") {
  const auto missing = [](std::string_view target, std::string_view name,
                          std::vector<std::string> modifiers) {
    return missingInstruction(*parseCodeTarget(target), name, modifiers).value_or("");
  };
  CHECK(missing("sm_80", "add", {"f32"}) == "");
  CHECK(missing("sm_80", "cp", {"async", "ca", "shared", "global"}) == "");
  CHECK(missing("sm_80", "cp", {"async", "bulk", "commit_group"}) == "sm_90 and later");
  CHECK(missing("sm_90", "wgmma", {"fence"}) == "sm_90a");
  CHECK(missing("sm_90a", "wgmma", {"fence"}) == "");
  CHECK(missing("sm_100a", "wgmma", {"fence"}) == "sm_90a");
  CHECK(missing("sm_100", "redux", {"sync", "min", "f32"}) == "sm_100a, sm_100f, sm_103a or sm_103f");
  CHECK(missing("sm_100", "cvt", {"rn", "e2m1x2", "f32"}) == "sm_100a and later targets with an a or an f");
  CHECK(missing("sm_100f", "redux", {"sync", "min", "f32"}) == "");
  CHECK(missing("sm_100f", "cvt", {"rs", "f16x2", "f32"}) == "sm_100a or sm_103a");
  CHECK(missing("sm_110a", "cvt", {"rs", "f16x2", "f32"}) == "sm_100a or sm_103a");
  CHECK(missing("sm_103a", "cvt", {"rs", "f16x2", "f32"}) == "");
}

TEST_CASE("relatives of sm_100a lack some of its instructions", "[target]") {
  const auto missing = [](std::string_view target, std::string_view name, std::vector<std::string> modifiers,
                          std::string_view operand = {}) {
    return missingInstruction(*parseCodeTarget(target), name, modifiers, operand).value_or("");
  };
  const std::string family = "sm_100a, sm_100f, sm_103a, sm_103f, sm_110a or sm_110f";
  CHECK(missing("sm_120a", "tcgen05", {"alloc", "cta_group::1"}) == family);
  CHECK(missing("sm_100", "tcgen05", {"alloc", "cta_group::1"}) == family);
  for (std::string_view target : {"sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_110a", "sm_110f"}) {
    INFO(target);
    CHECK(missing(target, "tcgen05", {"mma", "cta_group::1", "kind::f16"}) == "");
    bool isExact = target == "sm_100a" || target == "sm_110a", isThor = target.starts_with("sm_110");
    CHECK(missing(target, "tcgen05", {"mma", "cta_group::1", "kind::i8"}) ==
          (isExact ? "" : "sm_100a or sm_110a"));
    CHECK(missing(target, "tcgen05", {"mma", "cta_group::1", "kind::f16"}, "scale-input-d") ==
          (isThor ? "sm_100a, sm_100f, sm_103a or sm_103f" : ""));
    CHECK(missing(target, "tcgen05", {"shift", "cta_group::1", "down"}) ==
          (target.ends_with('a') ? "" : "sm_100a, sm_103a or sm_110a"));
    CHECK(missing(target, "tcgen05", {"ld", "red", "sync", "aligned"}) ==
          (target.starts_with("sm_100") ? "sm_103a, sm_103f, sm_110a or sm_110f" : ""));
    CHECK(missing(target, "redux", {"sync", "max", "f32"}) ==
          (isThor ? "sm_100a, sm_100f, sm_103a or sm_103f" : ""));
  }
  CHECK(missing("sm_120a", "cp", {"async", "bulk", "tensor", "cta_group::2"}) == family);
  CHECK(missing("sm_120a", "cvt", {"rn", "satfinite", "e2m1x2", "f32"}) == "");
}
