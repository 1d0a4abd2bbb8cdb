// SPDX-License-Identifier: Apache-2.0
#include "test/cutlass/Gemm.cuh"

using namespace tlc::test;

namespace {
struct Bf16StreamK : Plan {
  using A = cutlass::bfloat16_t;
  using B = cutlass::bfloat16_t;
  using D = float;
  using Cluster = Shape<2, 1, 1>;
  using Scheduler = cutlass::gemm::StreamKScheduler;
};
} // namespace

extern const Gemm bf16StreamK = gemmOf<Bf16StreamK>();
