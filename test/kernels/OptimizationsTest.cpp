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
      definitions[name] = "136";
    if (kernel->name() == "attention_fwd")
      definitions["form"] = "plain";
    Compiled usual(*kernel, definitions);
    if (!usual.acceptsAnyAlignment())
      continue; // its roles are written by hand: nothing is left to be chosen
    Compiled compiled(*kernel, definitions, options);
    if (compiled.isSameAs(usual))
      continue; // it has nothing to be switched off, and ShapesTest runs it
    compiled.check({});
    for (const Parameter &parameter : kernel->parameters())
      if (parameter.kind == Parameter::Kind::size)
        sizes[parameter.name] = "129";
      else if (parameter.kind == Parameter::Kind::count)
        sizes[parameter.name] = "1"; // the first run has two of what repeats the work
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

TEST_CASE("without asynchronous copies results are right", "[kernels][optimizations]") {
  checkWith({.warpSpecialization = false}); // in which loops without roles copy ahead
  checkWith({.warpSpecialization = false, .asyncCopies = false});
}

TEST_CASE("on sm_80 a GEMM copies ahead by any number of stages", "[kernels][optimizations]") {
  CompileOptions options;
  options.target = "sm_80";
  for (const char *stages : {"1", "2", "3", "4", "7"})
    for (const char *layout : {"tn", "nn"}) {
      Compiled compiled(**findKernel("gemm"),
                        {{"bm", "64"}, {"bn", "64"}, {"bk", "32"}, {"stages", stages}, {"layout", layout}},
                        options);
      for (const char *k : {"0", "8", "32", "104", "320"})
        compiled.check({{"m", "72"}, {"n", "136"}, {"k", k}});
      compiled.check({{"m", "33"}, {"n", "65"}, {"k", "77"}}); // rows of two-byte alignment
    }
}

namespace {
/// A GEMM whose tiles a role of its own stores, at each of these values of m and k.
void checkStoreRole(const std::vector<std::pair<std::string, std::string>> &sizes) {
  for (const char *out : {"bf16", "f32"})
    for (Definitions choices : {Definitions{{"bm", "128"}, {"bn", "128"}, {"split", "1"}},
                                {{"bm", "64"}, {"bn", "64"}, {"split", "1"}},
                                {{"bm", "128"}, {"bn", "64"}, {"split", "2"}},
                                {{"bm", "64"}, {"bn", "64"}, {"cluster", "2"}}}) {
      choices.insert({{"out", out}, {"store_role", "yes"}});
      Compiled compiled(**findKernel("gemm"), choices);
      for (const auto &[m, k] : sizes)
        compiled.check({{"m", m}, {"n", "136"}, {"k", k}});
      compiled.check({{"m", "300"}, {"n", "8"}, {"k", "77"}}); // rows of two-byte alignment: no TMA loads
    }
}
} // namespace

TEST_CASE("a role of its own stores the tiles of a GEMM that asks for it", "[kernels][optimizations]") {
  checkStoreRole({{"1", "8"}, {"33", "0"}, {"200", "200"}, {"577", "8"}, {"577", "200"}});
}

// Of tools/test.sh long.
TEST_CASE("a role of its own stores the tiles of a GEMM of every m and k", "[.long]") {
  std::vector<std::pair<std::string, std::string>> sizes;
  for (const char *m : {"1", "33", "200", "577"})
    for (const char *k : {"0", "8", "200"})
      sizes.emplace_back(m, k);
  checkStoreRole(sizes);
}

TEST_CASE("without the role that stores results are right", "[kernels][optimizations]") {
  CompileOptions options;
  options.optimizations.storeRole = false;
  Compiled(**findKernel("gemm"), {{"bm", "128"}, {"bn", "128"}, {"store_role", "yes"}}, options)
      .check({{"m", "200"}, {"n", "136"}, {"k", "200"}});
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
             .storeRole = false,
             .asyncCopies = false,
             .overlap = false,
             .loopSplitting = false,
             .deferredStores = false});
}
