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
  CHECK(missing("sm_100", "redux", {"sync", "min", "f32"}) == "sm_100a and later targets with an a or an f");
  CHECK(missing("sm_100f", "redux", {"sync", "min", "f32"}) == "");
  CHECK(missing("sm_100f", "cvt", {"rs", "f16x2", "f32"}) == "sm_100a and later targets with an a");
  CHECK(missing("sm_103a", "cvt", {"rs", "f16x2", "f32"}) == "");
}
