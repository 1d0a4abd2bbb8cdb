// SPDX-License-Identifier: Apache-2.0
/// \file
/// The softmax of rows of one length: of all alignments, in parts of a warp, by a warp, by a block and by a
/// cluster, in one pass and in two.
#include "test/kernels/KernelRuns.h"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

const Kernel &softmax() { return **findKernel("softmax"); }

Compiled compileFor(int64_t columns, Definitions definitions) {
  definitions.insert({{"rows", "37"}, {"columns", std::to_string(columns)}, {"length", "one"}});
  return Compiled(softmax(), definitions);
}

constexpr std::array types = {"bf16", "f16", "f32"};
constexpr std::array lengths = {0, 1, 8, 9, 12, 30, 55, 110, 136, 182, 257, 500, 1022, 1025, 2370};
constexpr std::array placements = {Placement{0, 0}, Placement{1, 0}, Placement{2, 6}, Placement{4, 4}};
const std::vector<size_t> ofRows = {types.size(), lengths.size(), placements.size()};

void checkRows(const std::vector<std::vector<size_t>> &rows) {
  for (const std::vector<size_t> &row : rows) {
    const Placement placement = placements[row[2]];
    const int64_t columns = lengths[row[1]], bytes = types[row[0]] == std::string_view("f32") ? 4 : 2,
                  stride = (columns + placement.rowPadding) * bytes,
                  alignment = std::gcd(std::gcd(stride, placement.offset * bytes), 16);
    compileFor(columns, {{"dtype", types[row[0]]}, {"alignment", std::to_string(alignment)}})
        .check({}, {.placement = placement});
  }
}

} // namespace

TEST_CASE("rows of one length are right at all lengths and alignments", "[kernels][softmax]") {
  Random random(Catch::rngSeed());
  checkRows(pairsOf(ofRows, random));
}

TEST_CASE("rows of one length are right at all lengths, types and alignments", "[kernels][softmax][.long]") {
  checkRows(allOf(ofRows));
}

TEST_CASE("rows of one length are right in two passes and by a cluster", "[kernels][softmax]") {
  for (const char *dtype : {"bf16", "f32"})
    for (int64_t columns : {1025, 2499, 4098, 5000}) {
      compileFor(columns, {{"dtype", dtype}, {"warps", "1"}}).check({});
      compileFor(columns, {{"dtype", dtype}, {"warps", "1"}, {"cluster", "2"}}).check({});
      compileFor(columns, {{"dtype", dtype}, {"warps", "2"}, {"piece", "64"}}).check({});
    }
}

TEST_CASE("tiles of rows of any length may be taken in pieces", "[kernels][softmax]") {
  Compiled compiled(softmax(), {{"columns", "4096"}, {"warps", "1"}, {"piece", "256"}});
  for (const char *columns : {"1000", "1025", "2500", "4096"})
    compiled.check({{"rows", "5"}, {"columns", columns}});
  for (const char *cluster : {"1", "2"}) { // pieces that do not divide what a block would have
    Compiled uneven(softmax(), {{"columns", "4096"}, {"warps", "1"}, {"piece", "384"}, {"cluster", cluster}});
    for (const char *columns : {"1000", "1200", "2500"})
      uneven.check({{"rows", "4"}, {"columns", columns}});
  }
}
