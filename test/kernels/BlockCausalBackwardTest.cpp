// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention backward with block-causal masks of every block up to a tile's rows.
#include "kernels/Registry.h"
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

// Of tools/test.sh long.
TEST_CASE("gradients of block-causal masks are right for every block up to 64", "[.long]") {
  const Kernel &kernel = **findKernel("attention_bwd");
  for (int block = 1; block <= 64; ++block) {
    Compiled compiled(kernel, {{"mask", "block_causal"},
                               {"block", std::to_string(block)},
                               {"d", "64"},
                               {"form", block % 2 == 0 ? "explicit" : "plain"}});
    // Halves of 129: of whole blocks and a part, in tiles that both halves share.
    compiled.check({{"b", "1"}, {"sq", "258"}, {"sk", "258"}, {"h", "2"}, {"hkv", "1"}});
  }
}
