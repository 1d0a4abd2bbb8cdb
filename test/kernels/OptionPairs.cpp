// SPDX-License-Identifier: Apache-2.0
/// \file
/// Covering arrays of options.
#include "test/kernels/OptionPairs.h"

#include "test/kernels/CoveringArray.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::attention_matrix;

void test::checkPairs(std::string_view name, int64_t alignment, const std::vector<Option> &options,
                      size_t wanted, int longest) {
  uint64_t seed = Catch::rngSeed();
  Random random(seed);
  const Kernel &kernel = **findKernel(name);
  std::vector<size_t> extents;
  for (const Option &option : options)
    extents.push_back(option.size());
  auto isAllowed = [&](const std::vector<size_t> &row) {
    return bool(Request::parse(kernel.name(), drawCase(options, row, random, longest).all()));
  };
  std::vector<std::vector<size_t>> rows = coveringArray(extents, random, isAllowed);
  REQUIRE(!rows.empty());
  size_t repetitions = (wanted + rows.size() - 1) / rows.size();
  fmt::print("{} programs, {} sizes of each, seed {}\n", rows.size(), repetitions, seed);
  for (const std::vector<size_t> &row : rows) {
    Case first = drawCase(options, row, random, longest);
    Compiled compiled(kernel, first.all());
    for (size_t i = 0; i != repetitions; ++i) {
      ProblemOptions problem;
      problem.placement.rowPadding = random() % 2 == 0 ? 0 : alignment;
      Definitions sizes = i == 0 ? first.sizes : drawCase(options, row, random, longest).sizes;
      INFO("seed of the test: " << seed);
      compiled.check(sizes, problem);
    }
  }
}
