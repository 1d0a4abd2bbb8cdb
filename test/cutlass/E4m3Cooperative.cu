// SPDX-License-Identifier: Apache-2.0
#include "test/cutlass/Gemm.cuh"

using namespace tlc::test;

namespace {
struct E4m3Cooperative : Plan {
  using A = cutlass::float_e4m3_t;
  using B = cutlass::float_e4m3_t;
  using D = cutlass::bfloat16_t;
  using Tile = Shape<128, 128, 128>;
  using Cluster = Shape<2, 2, 1>;
};
} // namespace

extern const Gemm e4m3Cooperative = gemmOf<E4m3Cooperative>();
