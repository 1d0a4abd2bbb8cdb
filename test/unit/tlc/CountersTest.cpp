// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `tlc profile` reads of Nsight Compute, and how it calls it.
#include "tools/tlc/Counters.h"

#include <catch2/catch.hpp>

using namespace tlc::driver;

TEST_CASE("counters are read from a table of ncu", "[profile]") {
  const std::vector<Counter> counters =
      parseCounters("==PROF== Connected to process 1\n"
                    "gemm m=1\n"
                    "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
                    "\"0\",\"gemm(int, \"\"x\"\")\",\"sm__inst_executed.sum\",\"inst\",\"1,234\"\r\n"
                    "\"0\",\"gemm\",\"lts__t_sector_hit_rate.pct\",\"%\",\"71.5\"\n"
                    "\"0\",\"cut\n");
  REQUIRE(counters.size() == 2);
  CHECK(counters[0].name == "sm__inst_executed.sum");
  CHECK(counters[0].value == "1,234");
  CHECK(counters[0].unit == "inst");
  CHECK(counters[1].value == "71.5");
  CHECK(parseCounters("==ERROR== no permission\n").empty());
}

TEST_CASE("the flags of a profile that are none of a run are left out", "[profile]") {
  CHECK(runArguments({"profile", "gemm", "-D", "m=64", "-o", "a.svg", "--roofline=r.svg", "--block", "3",
                      "--json", "--device", "cuda", "--gpu", "1", "--seed=4"}) ==
        std::vector<std::string>{"run", "gemm", "-D", "m=64", "--gpu", "1", "--seed=4", "--device=cuda"});
}
