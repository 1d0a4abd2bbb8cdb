// SPDX-License-Identifier: Apache-2.0
/// \file
/// Covering arrays of options.
#include "test/kernels/OptionPairs.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::attention_matrix;

std::vector<Option> test::atTheirEnds(std::vector<Option> options) {
  for (Option &option : options)
    if (option.size() > 2)
      option = {option.front(), option.back()};
  return options;
}

void test::checkOptions(std::string_view name, const std::vector<Option> &options, Cover cover,
                        const RunSizes &sizes) {
  uint64_t seed = Catch::rngSeed();
  Random random(seed);
  const Kernel &kernel = **findKernel(name);
  std::vector<size_t> extents;
  for (const Option &option : options)
    extents.push_back(option.size());
  auto isAllowed = [&](const std::vector<size_t> &row) {
    return bool(Request::parse(kernel.name(), drawCase(options, row, random, sizes.longest).all()));
  };
  std::vector<std::vector<size_t>> rows = coveringArray(extents, cover, random, isAllowed);
  REQUIRE(!rows.empty());
  size_t repetitions = (sizes.wanted + rows.size() - 1) / rows.size();
  fmt::print("{} programs, {} sizes of each, seed {}\n", rows.size(), repetitions, seed);
  for (const std::vector<size_t> &row : rows) {
    Case first = drawCase(options, row, random, sizes.longest);
    Compiled compiled(kernel, first.all());
    for (size_t i = 0; i != repetitions; ++i) {
      ProblemOptions problem;
      problem.placement.rowPadding = random() % 2 == 0 ? 0 : sizes.alignment;
      Definitions drawn = i == 0 ? first.sizes : drawCase(options, row, random, sizes.longest).sizes;
      INFO("seed of the test: " << seed);
      compiled.check(drawn, problem);
    }
  }
}
