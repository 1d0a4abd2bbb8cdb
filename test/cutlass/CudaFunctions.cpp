// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of CUDA's runtime and driver that nvcc's and CUTLASS's host code call.
#include "runtime/emulator/math/TensorMap.h"
#include "test/cutlass/CudaRuntime.h"

#include <cstring>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <utility>

using namespace tlc;
using tlc::test::CudaRuntime;

namespace {

std::array<uint32_t, 3> extents(dim3 of) { return {of.x, of.y, of.z}; }

cudaError_t launch(const void *function, CudaRuntime::LaunchShape shape, void **arguments) {
  return CudaRuntime::instance().launch(function, shape, arguments) ? cudaSuccess : cudaErrorLaunchFailure;
}

/// What `<<<...>>>` leaves for the function of the kernel on the host.
struct CallConfiguration {
  dim3 grid, block;
  size_t sharedBytes = 0;
  cudaStream_t stream = nullptr;
};
CallConfiguration &callConfiguration() {
  static CallConfiguration last;
  return last;
}

CUresult encodeTiled(CUtensorMap *result, CUtensorMapDataType type, cuuint32_t rank, void *address,
                     const cuuint64_t *shape, const cuuint64_t *strides, const cuuint32_t *box,
                     const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  using emulator::EmulatedTensorMap;
  if (rank > EmulatedTensorMap::maxRank || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    return CUDA_ERROR_INVALID_VALUE;
  // The types after bf16 are f32 for the TMA unless it adds.
  const bool isFloat = type > CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  EmulatedTensorMap map{.globalAddress = reinterpret_cast<uint64_t>(address),
                        .element = isFloat ? emulator::TensorElement::f32 : emulator::TensorElement(type),
                        .rank = rank,
                        .swizzle = Swizzle(swizzle),
                        .fill = emulator::OutOfBoundsFill(fill)};
  std::copy_n(shape, rank, map.dims.begin());
  std::copy_n(strides, rank - 1, map.strides.begin());
  std::copy_n(box, rank, map.box.begin());
  std::copy_n(elementStrides, rank, map.elementStrides.begin());
  if (!emulator::checkTensorMap(map))
    return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = emulator::encodeTensorMap(map);
  std::memcpy(result, bytes.data(), bytes.size());
  return CUDA_SUCCESS;
}

} // namespace

extern "C" {

// What nvcc calls when the program starts: a kernel is known by its function on the host.

struct FatBinaryWrapper {
  int mark, version;
  const void *data;
  void *file;
};
void **__cudaRegisterFatBinary(void *wrapper) { return static_cast<void **>(wrapper); }
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
char __cudaInitModule(void **) { return 1; }
void __cudaRegisterFunction(void **wrapper, const char *hostFunction, char *, const char *name, int, void *,
                            void *, void *, void *, int *) {
  const void *const data = reinterpret_cast<const FatBinaryWrapper *>(wrapper)->data;
  CudaRuntime::instance().addKernel(hostFunction, data, name);
}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}

// Launches.

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes, cudaStream_t stream) {
  callConfiguration() = {grid, block, sharedBytes, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *sharedBytes, void *stream) {
  const CallConfiguration &last = callConfiguration();
  *grid = last.grid;
  *block = last.block;
  *sharedBytes = last.sharedBytes;
  *static_cast<cudaStream_t *>(stream) = last.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *hostFunction) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void *>(hostFunction));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t sharedBytes, cudaStream_t) {
  return launch(kernel, {.grid = extents(grid), .block = extents(block), .sharedBytes = sharedBytes},
                arguments);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
  CudaRuntime::LaunchShape shape{.grid = extents(config->gridDim),
                                 .block = extents(config->blockDim),
                                 .sharedBytes = config->dynamicSmemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (const cudaLaunchAttribute &attribute = config->attrs[i];
        attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto &cluster = attribute.val.clusterDim;
      shape.cluster = {cluster.x, cluster.y, cluster.z};
    }
  return launch(function, shape, arguments);
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }

// The device.

cudaError_t cudaMemsetAsync(void *address, int value, size_t bytes, cudaStream_t) {
  CudaRuntime::instance().fill(address, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrMultiProcessorCount)
    return cudaErrorInvalidValue;
  *value = 132;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  *version = 99000; // later than every driver whose tensor maps a program would mend
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult *result) {
  const bool found = std::string_view(symbol) == "cuTensorMapEncodeTiled";
  *function = found ? reinterpret_cast<void *>(&encodeTiled) : nullptr;
  *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return CudaRuntime::instance().failed() ? cudaErrorLaunchFailure : cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "failed"; }
}
