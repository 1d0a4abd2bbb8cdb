// SPDX-License-Identifier: Apache-2.0
#include "test/cutlass/Gemm.cuh"

using namespace tlc::test;

namespace {
struct HalfCooperative : Plan {
  using Cluster = Shape<2, 1, 1>;
};
} // namespace

extern const Gemm halfCooperative = gemmOf<HalfCooperative>();
