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

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using tlc::test::expectValue;

namespace {

/// Of each size, the next number that it may be.
void forEachSize(int64_t number, const std::function<void(const Kernel &, const Definitions &)> &body) {
  for (const Kernel *kernel : cookbookKernels())
    for (const Parameter &parameter : kernel->parameters()) {
      const int64_t step = parameter.multipleOf;
      const int64_t value = std::max((number + step - 1) / step * step, parameter.least);
      if (parameter.isDimension() && value <= parameter.most)
        body(*kernel, {{parameter.name, std::to_string(value)}});
    }
}

} // namespace

TEST_CASE("the cookbook's kernels are right with one size of 0, 1 and a prime", "[cookbook][sizes]") {
  for (int64_t number : {0, 1, 67})
    forEachSize(number, [](const Kernel &kernel, const Definitions &size) { check(kernel, size); });
}

TEST_CASE("the cookbook's kernels take 65537 of each size", "[cookbook][sizes]") {
  const Target &target = *findTarget("sm_90a");
  forEachSize(65537, [&](const Kernel &kernel, const Definitions &size) {
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
