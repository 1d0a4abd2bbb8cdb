// SPDX-License-Identifier: Apache-2.0
#include "test/cutlass/Gemm.cuh"

using namespace tlc::test;

namespace {
struct HalfWarpSpecialized : Plan {
  using LayoutB = Rows;
  using LayoutD = Columns;
  using Tile = Shape<64, 128, 64>;
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecialized;
  using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
};
} // namespace

extern const Gemm halfWarpSpecialized = gemmOf<HalfWarpSpecialized>();
