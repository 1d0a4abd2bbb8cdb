// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each size of each kernel of the cookbook by itself: none, one, a prime, more than an axis of the grid
/// takes.
#include "kernels/cookbook/Cookbook.h"
#include "runtime/target/Target.h"
#include "test/Expect.h"
#include "test/cookbook/CookbookRun.h"
#include "test/kernels/CompileOnce.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using tlc::test::expectValue;

namespace {

/// Of each size, the next number to that of `numberOf` that it may be.
void forEachSize(const std::function<int64_t(const Kernel &, const Parameter &)> &numberOf,
                 const std::function<void(const Kernel &, const Definitions &)> &body) {
  for (const Kernel *kernel : cookbookKernels())
    for (const Parameter &parameter : kernel->parameters()) {
      if (!parameter.isDimension())
        continue;
      const int64_t step = parameter.multipleOf, number = numberOf(*kernel, parameter);
      const int64_t value = std::max((number + step - 1) / step * step, parameter.least);
      if (value <= parameter.most)
        body(*kernel, {{parameter.name, std::to_string(value)}});
    }
}

/// A prime that tiles do not divide; of sizes that the emulator has few of, such as heads, a small one.
int64_t primeOf(const Kernel &kernel, const Parameter &parameter) {
  const Definitions usual = kernel.emulatorSizes();
  const auto size = usual.find(parameter.name);
  return size != usual.end() && std::stoll(size->second) < 16 ? 7 : 67;
}

void checkOne(const Kernel &kernel, const Definitions &size) { check(kernel, size); }

} // namespace

TEST_CASE("the cookbook's kernels are right with one size of 0", "[cookbook][sizes]") {
  forEachSize([](const Kernel &, const Parameter &) { return 0; }, checkOne);
}

TEST_CASE("the cookbook's kernels are right with sizes that are primes", "[cookbook][sizes]") {
  // As many at once as go together.
  std::map<const Kernel *, std::vector<Definitions>> problems;
  forEachSize(primeOf, [&](const Kernel &kernel, const Definitions &size) {
    for (Definitions &problem : problems[&kernel]) {
      Definitions both = problem;
      both.insert(size.begin(), size.end());
      if (Request::parse(kernel, both, {}, DefaultSizes::emulator)) {
        problem = both;
        return;
      }
    }
    problems[&kernel].push_back(size);
  });
  for (const auto &[kernel, each] : problems)
    for (const Definitions &problem : each)
      check(*kernel, problem);
}

// Of tools/test.sh long.
TEST_CASE("the cookbook's kernels are right with one size of 1 and a prime", "[.long]") {
  forEachSize([](const Kernel &, const Parameter &) { return 1; }, checkOne);
  forEachSize(primeOf, checkOne);
}

TEST_CASE("the cookbook's kernels take 65537 of each size", "[cookbook][sizes]") {
  const Target &target = *findTarget("sm_90a");
  auto number = [](const Kernel &, const Parameter &) { return int64_t(65537); };
  forEachSize(number, [&](const Kernel &kernel, const Definitions &size) {
    CAPTURE(kernel.name(), *size.begin());
    Request request = expectValue(Request::parse(kernel, size, {}, DefaultSizes::emulator));
    std::shared_ptr<const Artifact> artifact = compileOnce(request);
    std::vector<int64_t> dimensions;
    for (const Dimension &dimension : artifact->dimensions)
      dimensions.push_back(dimension.computed ? dimension.computed->evaluate(dimensions, 0).value()
                                              : request.values.size(dimension.name));
    for (const Variant &variant : artifact->variants)
      for (const Launch &launch : variant.launches)
        for (size_t axis = 0; axis < 3; ++axis) {
          std::optional<int64_t> blocks = launch.grid[axis].evaluate(dimensions, target.multiprocessors);
          CAPTURE(launch.entry, axis);
          REQUIRE(blocks);
          CHECK(*blocks <= int64_t(axis == 0 ? target.maxGridX : target.maxGridYZ));
        }
  });
}
