// SPDX-License-Identifier: Apache-2.0
/// \file
/// All that a tensor map can say, through the driver; the devices need less.
#include "runtime/cuda/CudaContext.h"
#include "tools/conformance/Runner.h"

#include <cstring>

namespace tlc::conformance {

Result<TensorMapBytes> encodeForCuda(const emulator::EmulatedTensorMap &map) {
  Result<std::shared_ptr<const CudaContext>> context = CudaContext::create(0);
  if (!context)
    return context.error();
  const CudaContext &cuda = **context;
  CurrentContext scope(cuda);
  CUtensorMap encoded;
  // The enumerations of the emulator have the values of CUDA's.
  void *const address = reinterpret_cast<void *>(map.globalAddress);
  const auto element = CUtensorMapDataType(map.element);
  const auto swizzle = CUtensorMapSwizzle(map.swizzle);
  const auto fill = CUtensorMapFloatOOBfill(map.fill);
  const CUresult status =
      map.im2col
          ? cuda.driver.cuTensorMapEncodeIm2col(&encoded, element, map.rank, address, map.dims.data(),
                                                map.strides.data(), map.im2col->lower.data(),
                                                map.im2col->upper.data(), map.box[0], map.im2col->pixels,
                                                map.elementStrides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                                                swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill)
          : cuda.driver.cuTensorMapEncodeTiled(&encoded, element, map.rank, address, map.dims.data(),
                                               map.strides.data(), map.box.data(), map.elementStrides.data(),
                                               CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                               CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  if (status != CUDA_SUCCESS)
    return cuda.error(status, "the driver refuses a tensor map");
  TensorMapBytes bytes;
  static_assert(sizeof(encoded) == sizeof(bytes));
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

} // namespace tlc::conformance
