// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels that record their times compute what they compute without, and the checker has nothing against it.
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {
CompileOptions recording(std::string target = "sm_90a", Profiling profiling = {.records = 64}) {
  CompileOptions options;
  options.target = std::move(target);
  options.profiling = profiling;
  return options;
}
} // namespace

TEST_CASE("kernels that record their times are right", "[kernels][profile]") {
  const Kernel &gemm = **findKernel("gemm"), &attention = **findKernel("attention_fwd"),
               &softmax = **findKernel("softmax");
  const Definitions product = {{"m", "150"}, {"n", "200"}, {"k", "136"}};
  for (const char *target : {"sm_80", "sm_90a", "sm_100a"})
    Compiled(gemm, {{"bm", "64"}, {"bn", "64"}}, recording(target)).check(product);
  // Of two launches the second one, and another block than the first.
  Compiled(gemm, {{"bm", "64"}, {"bn", "64"}, {"split", "2"}},
           recording("sm_90a", {.records = 4, .block = 2, .launch = 1}))
      .check(product);
  Compiled(gemm, {{"bm", "64"}, {"bn", "64"}, {"cluster", "2"}},
           recording("sm_90a", {.records = 1, .block = 1}))
      .check(product);
  Compiled(attention, {{"form", "explicit"}, {"causal", "right"}}, recording())
      .check({{"b", "1"}, {"h", "2"}, {"hkv", "1"}, {"sq", "150"}, {"sk", "200"}});
  Compiled(attention, {{"form", "plain"}}, recording("sm_80"))
      .check({{"b", "1"}, {"h", "2"}, {"sq", "70"}, {"sk", "90"}});
  Compiled(softmax, {}, recording()).check({{"rows", "9"}, {"columns", "777"}});
}
