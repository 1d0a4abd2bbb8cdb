// SPDX-License-Identifier: Apache-2.0
/// \file
/// GEMMs whose operands have rows that the TMA cannot copy.
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

TEST_CASE("a GEMM copies operands to rows that the TMA can copy", "[kernels][repack]") {
  for (const char *layout : {"tn", "nn"})
    for (const char *unaligned : {"a", "b", "ab", "abc"})
      for (const char *split : {"1", "3"}) {
        Definitions choices = {{"layout", layout}, {"unaligned", unaligned},
                               {"repack", "yes"},  {"split", split},
                               {"bm", "64"},       {"bn", "64"}};
        INFO("layout " << layout << ", unaligned " << unaligned << ", split " << split);
        Compiled compiled(**findKernel("gemm"), choices);
        // The other operand has a variant for each alignment.
        for (const char *k : {"0", "1", "63", "64", "77", "200"})
          compiled.check({{"m", "70"}, {"n", "72"}, {"k", k}});
        compiled.check({{"m", "1"}, {"n", "65"}, {"k", "130"}});
        for (Placement placement : {Placement{1, 0}, Placement{3, 5}, Placement{8, 8}})
          compiled.check({{"m", "70"}, {"n", "72"}, {"k", "136"}}, {.placement = placement});
      }
}

TEST_CASE("a GEMM copies rows of two-byte alignment by threads where that is told", "[kernels][repack]") {
  for (const char *layout : {"tn", "nn"})
    Compiled(**findKernel("gemm"), {{"layout", layout}, {"repack", "no"}, {"k", "77"}})
        .check({{"m", "70"}, {"n", "72"}, {"k", "77"}});
}

TEST_CASE("a GEMM copies rows of four and eight bytes' alignment asynchronously", "[kernels][repack]") {
  for (const char *layout : {"tn", "nn"})
    for (const char *repack : {"no", "yes"})
      for (const char *split : {"1", "3"})
        for (auto [n, k] : {std::pair("74", "198"), {"76", "204"}, {"66", "2"}, {"8", "76"}}) {
          INFO("layout " << layout << ", repack " << repack << ", split " << split << ", n " << n << ", k "
                         << k);
          Definitions sizes = {{"m", "70"}, {"n", n}, {"k", k}}, choices = sizes;
          choices.insert(
              {{"layout", layout}, {"repack", repack}, {"split", split}, {"bm", "64"}, {"bn", "64"}});
          Compiled(**findKernel("gemm"), choices).check(sizes);
        }
}
