// SPDX-License-Identifier: Apache-2.0
#include "test/cutlass/Gemm.cuh"

using namespace tlc::test;

namespace {
struct E4m3Pingpong : Plan {
  using A = cutlass::float_e4m3_t;
  using B = cutlass::float_e4m3_t;
  using Tile = Shape<64, 128, 128>;
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8FastAccum;
  using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
};
} // namespace

extern const Gemm e4m3Pingpong = gemmOf<E4m3Pingpong>();
