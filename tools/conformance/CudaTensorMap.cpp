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
  const CUresult status = cuda.driver.cuTensorMapEncodeTiled(
      &encoded, CUtensorMapDataType(map.element), map.rank, reinterpret_cast<void *>(map.globalAddress),
      map.dims.data(), map.strides.data(), map.box.data(), map.elementStrides.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, CUtensorMapSwizzle(map.swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CUtensorMapFloatOOBfill(map.fill));
  if (status != CUDA_SUCCESS)
    return cuda.error(status, "the driver refuses a tensor map");
  TensorMapBytes bytes;
  static_assert(sizeof(encoded) == sizeof(bytes));
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

} // namespace tlc::conformance
