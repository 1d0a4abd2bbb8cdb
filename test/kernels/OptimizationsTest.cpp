// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every optimisation can be switched off, and the result stays right.
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

void checkWith(const Optimizations &optimizations) {
  CompileOptions options;
  options.optimizations = optimizations;
  for (const Kernel *kernel : allKernels()) {
    Definitions definitions, sizes;
    for (const std::string &name : sizesOf(*kernel))
      definitions[name] = "200";
    if (kernel->name() == "attention_fwd")
      definitions["form"] = "plain";
    if (!Compiled(*kernel, definitions).acceptsAnyAlignment())
      continue; // its roles are written by hand: nothing is left to be chosen
    Compiled compiled(*kernel, definitions, options);
    compiled.check({});
    for (const std::string &name : sizesOf(*kernel))
      sizes[name] = "129";
    compiled.check(sizes);
  }
}

} // namespace

TEST_CASE("without the tensor memory accelerator results are right", "[kernels][optimizations]") {
  checkWith({.tma = false});
}

TEST_CASE("without products by warpgroups results are right", "[kernels][optimizations]") {
  checkWith({.wgmma = false});
}

TEST_CASE("without warp specialisation results are right", "[kernels][optimizations]") {
  checkWith({.warpSpecialization = false});
}

TEST_CASE("without overlapping products results are right", "[kernels][optimizations]") {
  checkWith({.overlap = false});
}

TEST_CASE("with loops that ask in every iteration results are right", "[kernels][optimizations]") {
  checkWith({.loopSplitting = false});
}

TEST_CASE("with every tile stored before the next begins results are right", "[kernels][optimizations]") {
  checkWith({.deferredStores = false});
}

TEST_CASE("without any optimisation results are right", "[kernels][optimizations]") {
  checkWith({.tma = false,
             .wgmma = false,
             .warpSpecialization = false,
             .overlap = false,
             .loopSplitting = false,
             .deferredStores = false});
}
