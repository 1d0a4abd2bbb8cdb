// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/TensorMap.h"

#include <cassert>
#include <cstring>

using namespace tlc;

namespace {

namespace memory {
constexpr CUtensorMapDataType u8 = CU_TENSOR_MAP_DATA_TYPE_UINT8, u32 = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                              s32 = CU_TENSOR_MAP_DATA_TYPE_INT32, s64 = CU_TENSOR_MAP_DATA_TYPE_INT64,
                              f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, bf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                              f32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, f64 = CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
} // namespace memory

constexpr std::array dataTypes = {
#define TLC_ELEMENT_TYPE(name, C, bits, number, exponent, fraction, bias, specials, use, mlir, ptx, ...)     \
  memory::ptx,
#include "runtime/support/ElementTypes.def"
};

/// What L2 fetches from memory at once. With 256 bytes of a row, copies that memory limits take up to a tenth
/// longer (docs/performance/notes.md).
constexpr CUtensorMapL2promotion l2Promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;

CUtensorMapSwizzle swizzleOf(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::none:
    return CU_TENSOR_MAP_SWIZZLE_NONE;
  case Swizzle::bytes32:
    return CU_TENSOR_MAP_SWIZZLE_32B;
  case Swizzle::bytes64:
    return CU_TENSOR_MAP_SWIZZLE_64B;
  case Swizzle::bytes128:
    return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  assert(false && "unknown swizzle");
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

CUresult encode(const Driver &driver, const TensorMapValues &values, void *address, CUtensorMap &map) {
  // The driver counts axes from the innermost, and its strides leave that one out.
  const unsigned rank = values.rank;
  std::array<cuuint64_t, maxTensorMapRank> shape, strides;
  std::array<cuuint32_t, maxTensorMapRank> box, elementStrides;
  for (unsigned axis = 0; axis < rank; ++axis) {
    const unsigned ours = rank - 1 - axis;
    shape[axis] = values.shape[ours];
    box[axis] = values.box[ours];
    elementStrides[axis] = 1;
    if (axis > 0)
      strides[axis - 1] = values.strideBytes[ours];
  }
  if (values.im2col) {
    std::array<int, maxTensorMapRank - 2> lower = {}, upper = {}; // as axes: those of the width first
    for (unsigned axis = 1; axis + 1 < rank; ++axis) {
      const unsigned ours = rank - 2 - axis;
      lower[axis - 1] = int(values.im2col->lower[ours]);
      upper[axis - 1] = int(values.im2col->upper[ours]);
      elementStrides[axis] = cuuint32_t(values.im2col->stride[ours]);
    }
    return driver.cuTensorMapEncodeIm2col(
        &map, dataTypes[size_t(values.element)], rank, address, shape.data(), strides.data(), lower.data(),
        upper.data(), box[0], box[rank - 1], elementStrides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
        swizzleOf(values.swizzle), l2Promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
  return driver.cuTensorMapEncodeTiled(&map, dataTypes[size_t(values.element)], rank, address, shape.data(),
                                       strides.data(), box.data(), elementStrides.data(),
                                       CU_TENSOR_MAP_INTERLEAVE_NONE, swizzleOf(values.swizzle), l2Promotion,
                                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

} // namespace

CUresult tlc::encodeTensorMap(const Driver &driver, const TensorMapValues &values, void *address,
                              std::byte *destination) {
  static_assert(sizeof(CUtensorMap) == 128);
  CUtensorMap map; // aligned as the driver asks
  const CUresult status = encode(driver, values, address, map);
  if (status == CUDA_SUCCESS)
    std::memcpy(destination, &map, sizeof(map));
  return status;
}

CUresult tlc::moveTensorMap(const Driver &driver, void *address, std::byte *map) {
  CUtensorMap aligned;
  std::memcpy(&aligned, map, sizeof(aligned));
  const CUresult status = driver.cuTensorMapReplaceAddress(&aligned, address);
  if (status == CUDA_SUCCESS)
    std::memcpy(map, &aligned, sizeof(aligned));
  return status;
}
