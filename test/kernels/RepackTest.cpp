// SPDX-License-Identifier: Apache-2.0
/// \file
/// GEMMs whose operands have rows that the TMA cannot copy.
#include "test/kernels/KernelRuns.h"

#include <array>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

using Rows = std::vector<std::vector<size_t>>;

constexpr std::array layouts = {"tn", "nn"}, repacks = {"no", "yes"}, splits = {"1", "3"};
constexpr std::array operands = {"a", "b", "ab", "abc"};
constexpr std::pair<const char *, const char *> extents[] = {
    {"74", "198"}, {"76", "204"}, {"66", "2"}, {"8", "76"}};
const std::vector<size_t> ofRepacked = {layouts.size(), operands.size(), splits.size()};
const std::vector<size_t> ofNarrowRows = {layouts.size(), repacks.size(), splits.size(), std::size(extents)};

void checkRepacked(const Rows &rows) {
  for (const std::vector<size_t> &row : rows) {
    Compiled compiled(**findKernel("gemm"), {{"layout", layouts[row[0]]},
                                             {"unaligned", operands[row[1]]},
                                             {"repack", "yes"},
                                             {"split", splits[row[2]]},
                                             {"bm", "64"},
                                             {"bn", "64"}});
    // The other operand has a variant for each alignment.
    for (const char *k : {"0", "1", "63", "64", "77", "200"})
      compiled.check({{"m", "70"}, {"n", "72"}, {"k", k}});
    compiled.check({{"m", "1"}, {"n", "65"}, {"k", "130"}});
    for (Placement placement : {Placement{1, 0}, Placement{3, 5}, Placement{8, 8}})
      compiled.check({{"m", "70"}, {"n", "72"}, {"k", "136"}}, {.placement = placement});
  }
}

void checkNarrowRows(const Rows &rows) {
  for (const std::vector<size_t> &row : rows) {
    const auto [n, k] = extents[row[3]];
    Definitions sizes = {{"m", "70"}, {"n", n}, {"k", k}}, choices = sizes;
    choices.insert({{"layout", layouts[row[0]]},
                    {"repack", repacks[row[1]]},
                    {"split", splits[row[2]]},
                    {"bm", "64"},
                    {"bn", "64"}});
    Compiled(**findKernel("gemm"), choices).check(sizes);
  }
}

} // namespace

TEST_CASE("a GEMM copies operands to rows that the TMA can copy", "[kernels][repack]") {
  Random random(Catch::rngSeed());
  checkRepacked(pairsOf(ofRepacked, random));
}

TEST_CASE("a GEMM copies operands to rows that the TMA can copy, all choices", "[kernels][repack][.long]") {
  checkRepacked(allOf(ofRepacked));
}

TEST_CASE("a GEMM copies rows of two-byte alignment by threads where that is told", "[kernels][repack]") {
  for (const char *layout : {"tn", "nn"})
    Compiled(**findKernel("gemm"), {{"layout", layout}, {"repack", "no"}, {"k", "77"}})
        .check({{"m", "70"}, {"n", "72"}, {"k", "77"}});
}

TEST_CASE("a GEMM copies rows of four and eight bytes' alignment asynchronously", "[kernels][repack]") {
  Random random(Catch::rngSeed());
  checkNarrowRows(pairsOf(ofNarrowRows, random));
}

TEST_CASE("a GEMM copies rows of four and eight bytes' alignment asynchronously, all choices",
          "[kernels][repack][.long]") {
  checkNarrowRows(allOf(ofNarrowRows));
}
