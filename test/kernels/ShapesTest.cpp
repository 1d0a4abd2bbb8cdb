// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels are right at every size: none, one, less and more than a tile, aligned or not.
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

/// Values for all sizes of a kernel, each drawn from `values`.
Definitions drawSizes(const Kernel &kernel, std::span<const int> values, Random &random) {
  Definitions sizes;
  for (const std::string &name : sizesOf(kernel))
    sizes[name] = std::to_string(values[random() % values.size()]);
  return sizes;
}

Definitions allSizes(const Kernel &kernel, int value) {
  Definitions sizes;
  for (const std::string &name : sizesOf(kernel))
    sizes[name] = std::to_string(value);
  return sizes;
}

/// Not the extent of a tensor, which has no most value that fits into memory, and not the number of ranks, of
/// which RanksTest has one and eight.
bool isTuning(const Parameter &parameter) {
  return parameter.name != "ranks" &&
         (parameter.kind == Parameter::Kind::integer || parameter.kind == Parameter::Kind::constant) &&
         parameter.most < maxExtent;
}

/// Definitions in which each tuning parameter has its least and its most value. Least ones are together where
/// a program can have them. Most ones would not fit into a block's memory, but for those that no extent of a
/// tile can be: windows, blocks of a mask, tiles that are taken together.
std::vector<Definitions> extremeTunings(const Kernel &kernel) {
  constexpr int64_t largerThanTiles = 1024;
  std::vector<Definitions> small, large;
  Definitions unbounded = allSizes(kernel, 136);
  bool hasUnbounded = false;
  for (const Parameter &parameter : kernel.parameters()) {
    if (!isTuning(parameter))
      continue;
    const int64_t steps = (parameter.most - parameter.least) / parameter.multipleOf;
    const std::string most = std::to_string(parameter.least + steps * parameter.multipleOf);
    if (parameter.most >= largerThanTiles) {
      unbounded[parameter.name] = most;
      hasUnbounded = true;
    } else {
      large.push_back(allSizes(kernel, 136));
      large.back()[parameter.name] = most;
    }
    auto with = [&](Definitions definitions) {
      definitions[parameter.name] = std::to_string(parameter.least);
      return definitions;
    };
    auto fitting = std::ranges::find_if(small, [&](const Definitions &program) {
      return bool(Request::parse(kernel.name(), completed(kernel, with(program))));
    });
    if (fitting == small.end())
      small.push_back(with(allSizes(kernel, 72))); // a few of the least tiles, which take long
    else
      *fitting = with(*fitting);
  }
  small.insert(small.end(), large.begin(), large.end());
  if (hasUnbounded)
    small.push_back(unbounded);
  return small;
}

/// The tuning parameters of such a kernel, and what they do, are those of attention_fwd, attention_bwd or
/// all_gather_gemm.
bool tunesLikeAnother(const Kernel &kernel) {
  constexpr std::string_view names[] = {"attention_fwd_sharded", "attention_bwd_sharded", "gemm_all_reduce",
                                        "gemm_reduce_scatter"};
  return std::ranges::find(names, kernel.name()) != std::end(names);
}

/// attention_forward_test has the options of these forms.
bool hasTestOfOptions(const Kernel &kernel, const Definitions &definitions) {
  return (kernel.name() == "attention_fwd" || kernel.name() == "attention_fwd_fp8") &&
         (definitions.at("form") == "explicit" || definitions.at("form") == "plain");
}

/// attention_backward_test has its options, RanksTest the choices of kernels of ranks.
bool hasTestOfOptions(const Kernel &kernel) {
  return kernel.name() == "attention_bwd" ||
         std::ranges::find(kernel.parameters(), "ranks", &Parameter::name) != kernel.parameters().end();
}

} // namespace

// kernels_smoke is this alone.
TEST_CASE("every kernel is right once", "[.smoke]") {
  for (const Kernel *kernel : allKernels())
    Compiled(*kernel, allSizes(*kernel, 72)).check({});
}

namespace {
/// Programs with these choices at sizes that tiles do not divide.
void checkAllChoices(Cover cover) {
  Random random(Catch::rngSeed());
  constexpr int aligned[] = {0, 8, 64, 136, 200, 264}, odd[] = {1, 7, 63, 65, 129, 257};
  for (const Kernel *kernel : allKernels()) {
    if (hasTestOfOptions(*kernel))
      continue;
    for (Definitions definitions : choicesOf(*kernel, random, cover)) {
      if (hasTestOfOptions(*kernel, definitions))
        continue;
      definitions.merge(allSizes(*kernel, 256));
      Compiled compiled(*kernel, definitions);
      auto checkAmong = [&](std::span<const int> values) {
        Definitions sizes = drawSizes(*kernel, values, random);
        if (!compiled.accepts(sizes)) // some masks want as many keys as queries, some stores whole vectors
          sizes = allSizes(*kernel, values.back() & ~15);
        compiled.check(sizes);
      };
      checkAmong(aligned);
      if (compiled.acceptsAnyAlignment())
        checkAmong(odd);
    }
  }
}
} // namespace

TEST_CASE("kernels of all types and layouts are right at sizes that tiles do not divide",
          "[kernels][shapes]") {
  checkAllChoices(Cover::values);
}

// Of tools/test.sh long.
TEST_CASE("kernels of every two types, layouts and forms are right at sizes that tiles do not divide",
          "[.long]") {
  checkAllChoices(Cover::pairs);
}

TEST_CASE("sizes of 0 and 1 are sizes like others", "[kernels][shapes]") {
  for (const Kernel *kernel : allKernels()) {
    Compiled compiled(*kernel, allSizes(*kernel, 128));
    std::vector<std::string> names = sizesOf(*kernel);
    for (int extreme : {0, 1}) {
      compiled.check(allSizes(*kernel, extreme));
      for (const std::string &name : names) {
        Definitions sizes = allSizes(*kernel, 72);
        sizes[name] = std::to_string(extreme);
        compiled.check(sizes);
      }
    }
  }
}

namespace {
/// Each kernel as the heuristic configures it for so many drawn sizes.
void checkHeuristic(int drawnSizes) {
  Random random(Catch::rngSeed());
  constexpr int sizes[] = {1, 16, 48, 100, 192, 320, 640};
  for (const Kernel *kernel : allKernels())
    for (int i = 0; i != drawnSizes; ++i) {
      Definitions drawn = drawSizes(*kernel, sizes, random);
      Compiled(*kernel, drawn).check({});
    }
}
} // namespace

TEST_CASE("the configuration that the heuristic picks for a size is right at that size",
          "[kernels][shapes]") {
  checkHeuristic(2);
}

// Of tools/test.sh long.
TEST_CASE("the configuration that the heuristic picks is right at many sizes", "[.long]") {
  checkHeuristic(20);
}

TEST_CASE("a program specialised for its sizes is right", "[kernels][shapes]") {
  for (const Kernel *kernel : allKernels())
    Compiled(*kernel, allSizes(*kernel, 136), {}, sizesOf(*kernel)).check({});
}

TEST_CASE("the least and the most value of a tuning parameter compile and are right", "[kernels][shapes]") {
  for (const Kernel *kernel : allKernels())
    if (!tunesLikeAnother(*kernel))
      for (const Definitions &definitions : extremeTunings(*kernel))
        Compiled(*kernel, definitions).check({});
}

// Of tools/test.sh long.
TEST_CASE("the least and the most value of a tuning parameter that another kernel has, too", "[.long]") {
  for (const Kernel *kernel : allKernels())
    if (tunesLikeAnother(*kernel))
      for (const Definitions &definitions : extremeTunings(*kernel))
        Compiled(*kernel, definitions).check({});
}

// Of tools/test.sh long.
TEST_CASE("drawn values of tuning parameters compile and are right", "[.long]") {
  Random random(Catch::rngSeed());
  for (const Kernel *kernel : allKernels())
    for (const Parameter &parameter : kernel->parameters()) {
      if (!isTuning(parameter))
        continue;
      const int64_t steps = (parameter.most - parameter.least) / parameter.multipleOf;
      const int64_t step = int64_t(random() % uint64_t(steps + 1));
      Definitions definitions = allSizes(*kernel, 200);
      definitions[parameter.name] = std::to_string(parameter.least + step * parameter.multipleOf);
      Compiled(*kernel, definitions).check({});
    }
}
