// SPDX-License-Identifier: Apache-2.0
/// \file
/// A libcuda.so.1 without a GPU whose kernels do nothing, for what a launch takes beyond the driver's calls.
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <string_view>

namespace {

thread_local CUcontext current = nullptr;

CUresult succeed() { return CUDA_SUCCESS; }

struct Function {
  std::string_view name;
  void *address;
};
template <class T> void *addressOf(T *function) { return reinterpret_cast<void *>(function); }

template <class Handle> Handle handle(uintptr_t number) { return reinterpret_cast<Handle>(number); }

/// Those that return something. All others succeed.
const Function functions[] = {
    {"cuDriverGetVersion", addressOf(+[](int *version) {
       *version = CUDA_VERSION;
       return CUDA_SUCCESS;
     })},
    {"cuGetErrorName", addressOf(+[](CUresult, const char **text) {
       *text = "CUDA_ERROR";
       return CUDA_SUCCESS;
     })},
    {"cuGetErrorString", addressOf(+[](CUresult, const char **text) {
       *text = "of the driver that does nothing";
       return CUDA_SUCCESS;
     })},
    {"cuDeviceGetCount", addressOf(+[](int *count) {
       *count = 1;
       return CUDA_SUCCESS;
     })},
    {"cuDeviceGet", addressOf(+[](CUdevice *device, int ordinal) {
       *device = ordinal;
       return CUDA_SUCCESS;
     })},
    {"cuDeviceGetName", addressOf(+[](char *name, int length, CUdevice) {
       std::strncpy(name, "a driver that does nothing", size_t(length));
       return CUDA_SUCCESS;
     })},
    {"cuDeviceGetAttribute", addressOf(+[](int *value, CUdevice_attribute attribute, CUdevice) {
       *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? 9
                : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? 0
                : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 227 << 10
                                                                                     : 132;
       return CUDA_SUCCESS;
     })},
    {"cuDevicePrimaryCtxRetain", addressOf(+[](CUcontext *context, CUdevice) {
       *context = handle<CUcontext>(1);
       return CUDA_SUCCESS;
     })},
    {"cuCtxGetCurrent", addressOf(+[](CUcontext *context) {
       *context = current;
       return CUDA_SUCCESS;
     })},
    {"cuCtxPushCurrent", addressOf(+[](CUcontext context) {
       current = context;
       return CUDA_SUCCESS;
     })},
    {"cuCtxPopCurrent", addressOf(+[](CUcontext *context) {
       *context = current;
       current = nullptr;
       return CUDA_SUCCESS;
     })},
    {"cuMemAlloc", addressOf(+[](CUdeviceptr *address, size_t bytes) {
       *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(512, (bytes + 511) / 512 * 512));
       return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
     })},
    {"cuMemFree", addressOf(+[](CUdeviceptr address) {
       std::free(reinterpret_cast<void *>(address));
       return CUDA_SUCCESS;
     })},
    {"cuPointerGetAttributes", addressOf(+[](unsigned, CUpointer_attribute *, void **values, CUdeviceptr) {
       *static_cast<unsigned *>(values[0]) = CU_MEMORYTYPE_DEVICE;
       return CUDA_SUCCESS;
     })},
    {"cuModuleLoadDataEx", addressOf(+[](CUmodule *module, const void *, unsigned, CUjit_option *, void **) {
       *module = handle<CUmodule>(1);
       return CUDA_SUCCESS;
     })},
    {"cuModuleGetFunction", addressOf(+[](CUfunction *function, CUmodule, const char *) {
       *function = handle<CUfunction>(1);
       return CUDA_SUCCESS;
     })},
    {"cuFuncGetAttribute", addressOf(+[](int *value, CUfunction_attribute attribute, CUfunction) {
       *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
       return CUDA_SUCCESS;
     })},
    {"cuStreamCreate", addressOf(+[](CUstream *stream, unsigned) {
       *stream = handle<CUstream>(0x1000);
       return CUDA_SUCCESS;
     })},
};

} // namespace

extern "C" CUresult cuGetProcAddress_v2(const char *symbol, void **address, int, cuuint64_t,
                                        CUdriverProcAddressQueryResult *) {
  *address = addressOf(&succeed);
  for (const Function &function : functions)
    if (function.name == symbol)
      *address = function.address;
  return CUDA_SUCCESS;
}
