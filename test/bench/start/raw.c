// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program that needs the driver alone: `start_raw PLAN` loads machine code and launches it once.
#include "test/bench/start/Child.h"

#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

static void require(CUresult status, const char *what) { start_require(status == CUDA_SUCCESS, what); }

int main(int count, char **arguments) {
  start_tell();
  start_require(count == 2, "expected the file of a plan");
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  start_require(library != NULL, "cannot open libcuda.so.1");
  __typeof__(&cuGetProcAddress_v2) look_up;
  *(void **)&look_up = dlsym(library, "cuGetProcAddress_v2");
  start_require(look_up != NULL, "the driver is too old");
#define DRIVER(name, type, function, version)                                                                \
  __typeof__(&type) name;                                                                                    \
  require(look_up(function, (void **)&name, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL), function)
  DRIVER(init, cuInit, "cuInit", 2000);
  DRIVER(get_device, cuDeviceGet, "cuDeviceGet", 2000);
  DRIVER(retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000);
  DRIVER(push, cuCtxPushCurrent, "cuCtxPushCurrent", 4000);
  DRIVER(load, cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010);
  DRIVER(get_function, cuModuleGetFunction, "cuModuleGetFunction", 2000);
  DRIVER(set_attribute, cuFuncSetAttribute, "cuFuncSetAttribute", 9000);
  DRIVER(allocate, cuMemAlloc, "cuMemAlloc", 3020);
  DRIVER(copy_in, cuMemcpyHtoD, "cuMemcpyHtoD", 3020);
  DRIVER(launch, cuLaunchKernelEx, "cuLaunchKernelEx", 11060);
  DRIVER(synchronize, cuStreamSynchronize, "cuStreamSynchronize", 2000);
#undef DRIVER
  CUdevice device;
  CUcontext context;
  require(init(0), "cuInit");
  require(get_device(&device, 0), "cuDeviceGet");
  require(retain(&context, device), "cuDevicePrimaryCtxRetain");
  require(push(context), "cuCtxPushCurrent");
  start_tell();

  static struct start_plan plan;
  FILE *file = fopen(arguments[1], "rb");
  start_require(file && fread(&plan, sizeof(plan), 1, file) == 1, "cannot read the plan");
  char *code = malloc(plan.code_bytes);
  start_require(code && fread(code, 1, plan.code_bytes, file) == plan.code_bytes, "cannot read the code");
  fclose(file);
  CUmodule module;
  CUfunction function;
  require(load(&module, code, 0, NULL, NULL), "cuModuleLoadDataEx");
  require(get_function(&function, module, plan.entry), "cuModuleGetFunction");
  require(set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)plan.shared_bytes),
          "cuFuncSetAttribute");
  start_tell();

  static const float zeros[start_rows * start_columns];
  for (uint32_t i = 0; i != plan.pointers; ++i) {
    CUdeviceptr address;
    require(allocate(&address, start_tensor_bytes), "cuMemAlloc");
    require(copy_in(address, zeros, start_tensor_bytes), "cuMemcpyHtoD");
    memcpy(plan.values + plan.pointer_offsets[i], &address, sizeof(address));
  }
  void *parameters[start_most_parameters];
  for (uint32_t i = 0; i != plan.parameters; ++i)
    parameters[i] = plan.values + plan.parameter_offsets[i];
  const CUlaunchConfig config = {.gridDimX = plan.grid[0],
                                 .gridDimY = plan.grid[1],
                                 .gridDimZ = plan.grid[2],
                                 .blockDimX = plan.block[0],
                                 .blockDimY = plan.block[1],
                                 .blockDimZ = plan.block[2],
                                 .sharedMemBytes = plan.shared_bytes};
  require(launch(&config, function, parameters, NULL), "cuLaunchKernelEx");
  require(synchronize(NULL), "cuStreamSynchronize");
  start_tell();
  return 0;
}
