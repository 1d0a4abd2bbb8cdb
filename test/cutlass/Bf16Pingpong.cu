// SPDX-License-Identifier: Apache-2.0
#include "test/cutlass/Gemm.cuh"

using namespace tlc::test;

namespace {
struct Bf16Pingpong : Plan {
  using A = cutlass::bfloat16_t;
  using B = cutlass::bfloat16_t;
  using D = cutlass::bfloat16_t;
  using LayoutA = Columns;
  using LayoutB = Rows;
  using Tile = Shape<64, 128, 64>;
  using Cluster = Shape<1, 2, 1>;
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
  using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
  template <class D> using Fusion = Biased<D>;
};
} // namespace

extern const Gemm bf16Pingpong = gemmOf<Bf16Pingpong>();
