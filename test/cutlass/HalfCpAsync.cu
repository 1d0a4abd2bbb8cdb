// SPDX-License-Identifier: Apache-2.0
#include "test/cutlass/Gemm.cuh"

using namespace tlc::test;

namespace {
struct HalfCpAsync : Plan {
  using Mainloop = cutlass::gemm::KernelCpAsyncWarpSpecializedCooperative;
  using Epilogue = cutlass::epilogue::NoSmemWarpSpecialized;
  static constexpr int alignedBytes = 8;
};
} // namespace

extern const Gemm halfCpAsync = gemmOf<HalfCpAsync>();
