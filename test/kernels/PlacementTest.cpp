// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels are right wherever their tensors lie, and write nowhere else.
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

Compiled compileSmall(const Kernel &kernel) {
  Definitions sizes;
  for (const std::string &name : sizesOf(kernel))
    sizes[name] = "136";
  return Compiled(kernel, sizes);
}

} // namespace

TEST_CASE("rows of any stride and bases of any alignment give the right result", "[kernels][placement]") {
  for (const Kernel *kernel : allKernels()) {
    Compiled compiled = compileSmall(*kernel);
    for (Placement placement :
         {Placement{8, 0}, Placement{1, 0}, Placement{0, 1}, Placement{24, 8}, Placement{3, 5}})
      if (compiled.acceptsAnyAlignment() || (placement.rowPadding % 8 == 0 && placement.offset % 8 == 0))
        compiled.check({}, {.placement = placement});
  }
}

TEST_CASE("both variants are right on aligned tensors", "[kernels][placement]") {
  for (const Kernel *kernel : allKernels()) {
    Compiled compiled = compileSmall(*kernel);
    compiled.check({}, {}, Alignment::aligned);
    compiled.check({}, {}, Alignment::general);
  }
}
