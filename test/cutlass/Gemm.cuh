// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes a `Gemm` of CUTLASS's collective builders. A kernel is a struct that derives from
/// `Plan` and changes what it has otherwise.
#pragma once

#include "test/cutlass/Gemm.h"

#include <algorithm>
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>
#include <type_traits>

namespace tlc::test {

using cute::Int;
template <int m, int n, int k> using Shape = cute::Shape<Int<m>, Int<n>, Int<k>>;
using Rows = cutlass::layout::RowMajor;
using Columns = cutlass::layout::ColumnMajor;

struct Plan {
  using A = cutlass::half_t;
  using B = cutlass::half_t;
  using D = cutlass::half_t;
  using LayoutA = Rows;
  using LayoutB = Columns;
  using LayoutD = Rows;
  using Tile = Shape<128, 128, 64>;
  using Cluster = Shape<1, 1, 1>;
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
  using Epilogue = cutlass::epilogue::TmaWarpSpecializedCooperative;
  using Scheduler = cutlass::gemm::PersistentScheduler;
  template <class D> using Fusion = cutlass::epilogue::fusion::LinearCombination<D, float>;
  static constexpr int alignedBytes = 16; ///< of rows and columns, as the TMA asks for
};
/// relu(alpha A B + beta C + bias)
template <class D>
using Biased =
    cutlass::epilogue::fusion::LinCombPerRowBiasEltAct<cutlass::epilogue::thread::ReLu, D, float, float>;

template <class T> constexpr Element elementOf() {
  if constexpr (std::is_same_v<T, cutlass::half_t>)
    return Element::f16;
  else if constexpr (std::is_same_v<T, cutlass::bfloat16_t>)
    return Element::bf16;
  else if constexpr (std::is_same_v<T, cutlass::float_e4m3_t>)
    return Element::e4m3;
  else {
    static_assert(std::is_same_v<T, float>);
    return Element::f32;
  }
}

template <class P> struct Made {
  template <class T> static constexpr int alignment = P::alignedBytes / sizeof(T); // in elements
  using D = typename P::D;
  using Fusion = typename P::template Fusion<D>;
  static constexpr bool hasBias = !std::is_same_v<Fusion, Plan::Fusion<D>>;

  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, typename P::Tile, typename P::Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, D, typename P::LayoutD, alignment<D>, D,
      typename P::LayoutD, alignment<D>, typename P::Epilogue, Fusion>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, typename P::A, typename P::LayoutA,
      alignment<typename P::A>, typename P::B, typename P::LayoutB, alignment<typename P::B>, float,
      typename P::Tile, typename P::Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<int(sizeof(typename Epilogue::SharedStorage))>,
      typename P::Mainloop>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue,
                                                      typename P::Scheduler>;
  using Device = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

  template <class T> static T *address(const void *place) {
    return static_cast<T *>(const_cast<void *>(place));
  }
  static typename Device::Arguments arguments(const GemmCall &call) {
    const auto stride = [&](auto kind, int rows, int columns) {
      return cutlass::make_cute_packed_stride(kind, cute::make_shape(rows, columns, call.batches));
    };
    typename Device::Arguments all;
    all.mode = cutlass::gemm::GemmUniversalMode::kGemm;
    all.problem_shape = {call.m, call.n, call.k, call.batches};
    all.mainloop.ptr_A = address<typename P::A>(call.a);
    all.mainloop.dA = stride(typename Kernel::StrideA(), call.m, call.k);
    all.mainloop.ptr_B = address<typename P::B>(call.b);
    all.mainloop.dB = stride(typename Kernel::StrideB(), call.n, call.k);
    all.epilogue.ptr_C = address<D>(call.c);
    all.epilogue.dC = stride(typename Kernel::StrideC(), call.m, call.n);
    all.epilogue.ptr_D = address<D>(call.d);
    all.epilogue.dD = stride(typename Kernel::StrideD(), call.m, call.n);
    all.epilogue.thread.alpha = call.alpha;
    all.epilogue.thread.beta = call.beta;
    if constexpr (hasBias)
      all.epilogue.thread.bias_ptr = address<float>(call.bias);
    all.hw_info.sm_count = call.multiprocessors;
    if constexpr (std::is_same_v<typename P::Scheduler, cutlass::gemm::StreamKScheduler>) {
      using Mode = std::remove_reference_t<decltype(all.scheduler.decomposition_mode)>;
      all.scheduler.splits = std::max(call.splits, 1);
      all.scheduler.decomposition_mode = call.splits == 0 ? Mode::StreamK : Mode::SplitK;
    }
    return all;
  }

  static size_t workspaceBytes(const GemmCall &call) { return Device::get_workspace_size(arguments(call)); }
  static bool run(const GemmCall &call, void *workspace) {
    const auto all = arguments(call);
    constexpr auto success = cutlass::Status::kSuccess;
    return Device::can_implement(all) == success && Device().run(all, workspace) == success;
  }
};

template <class P> Gemm gemmOf() {
  return {elementOf<typename P::A>(),
          elementOf<typename P::B>(),
          elementOf<typename P::D>(),
          std::is_same_v<typename P::LayoutA, Rows>,
          std::is_same_v<typename P::LayoutB, Rows>,
          std::is_same_v<typename P::LayoutD, Rows>,
          Made<P>::hasBias,
          Made<P>::workspaceBytes,
          Made<P>::run};
}

} // namespace tlc::test
