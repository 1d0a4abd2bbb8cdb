// SPDX-License-Identifier: Apache-2.0
/// \file
/// A driver that only notes what it is asked for.
#pragma once

#include "runtime/artifact/Reports.h"
#include "test/unit/device/InertDriver.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <vector>

namespace tlc::test {

/// What the driver was asked for.
struct Noted {
  size_t launches = 0, encodedMaps = 0, replacedMaps = 0, clears = 0, pointerChecks = 0, contexts = 0;
  uint64_t output = 0;     ///< C of the last launch of the product
  uint64_t mapAddress = 0; ///< of the first map in the last launch of that kernel
  CUstream stream = nullptr;
  unsigned attributes = 0; ///< of the last launch
  CUdeviceptr hostMemory = 0, refusedMap = 0;
  bool captures = false;                           ///< the stream
  uintptr_t nodes = 0;                             ///< that were captured
  std::vector<uintptr_t> movedKernels, movedFills; ///< nodes that were changed
  uint64_t movedOutput = 0, movedFill = 0;         ///< C in the last ones
  int graphs = 0;                                  ///< that exist
  size_t graphLaunches = 0, waits = 0, lastNodes = 1;
  std::function<void()> onGraphLaunch = {};
  CUresult launched = CUDA_SUCCESS, waited = CUDA_SUCCESS, contextWaited = CUDA_ERROR_INVALID_VALUE,
           captureInfo = CUDA_SUCCESS;
};
inline Noted noted;
inline std::atomic<int> synchronisations = 0; ///< of the context

inline CUgraphNode nodeOf(uintptr_t number) { return reinterpret_cast<CUgraphNode>(number); }

/// Captures, of which each thing enqueued is a node with the next number.
inline void addGraphs(Driver &driver) {
  driver.cuStreamSynchronize = [](CUstream) {
    ++noted.waits;
    return noted.waited;
  };
  driver.cuStreamIsCapturing = [](CUstream, CUstreamCaptureStatus *status) {
    *status = noted.captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
  driver.cuStreamBeginCapture = [](CUstream, CUstreamCaptureMode) {
    noted.captures = true;
    return CUDA_SUCCESS;
  };
  driver.cuStreamEndCapture = [](CUstream, CUgraph *graph) {
    noted.captures = false;
    *graph = reinterpret_cast<CUgraph>(uintptr_t(0x77));
    ++noted.graphs;
    return CUDA_SUCCESS;
  };
  driver.cuStreamGetCaptureInfo = [](CUstream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *,
                                     const CUgraphNode **nodes, size_t *count) {
    static CUgraphNode last;
    last = nodeOf(noted.nodes);
    *status = noted.captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    *id = 7, *nodes = &last, *count = noted.lastNodes;
    return noted.captureInfo;
  };
  driver.cuGraphInstantiateWithFlags = [](CUgraphExec *, CUgraph, unsigned long long) {
    return CUDA_SUCCESS;
  };
  driver.cuGraphExecDestroy = [](CUgraphExec) { return CUDA_SUCCESS; };
  driver.cuGraphDestroy = [](CUgraph) {
    --noted.graphs;
    return CUDA_SUCCESS;
  };
  driver.cuGraphLaunch = [](CUgraphExec, CUstream) {
    ++noted.graphLaunches;
    if (noted.onGraphLaunch)
      noted.onGraphLaunch();
    return CUDA_SUCCESS;
  };
  driver.cuGraphMemsetNodeGetParams = [](CUgraphNode, CUDA_MEMSET_NODE_PARAMS *) { return CUDA_SUCCESS; };
  driver.cuGraphExecMemsetNodeSetParams = [](CUgraphExec, CUgraphNode node,
                                             const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext) {
    noted.movedFills.push_back(reinterpret_cast<uintptr_t>(node));
    if (parameters->dst != 0x40000000) // of the workspace
      noted.movedFill = parameters->dst;
    return CUDA_SUCCESS;
  };
  driver.cuGraphExecKernelNodeSetParams = [](CUgraphExec, CUgraphNode node,
                                             const CUDA_KERNEL_NODE_PARAMS *parameters) {
    noted.movedKernels.push_back(reinterpret_cast<uintptr_t>(node));
    if (parameters->blockDimX == 384)
      std::memcpy(&noted.movedOutput, parameters->kernelParams[4], sizeof(uint64_t));
    return CUDA_SUCCESS;
  };
}

inline Driver notingDriver() {
  Driver driver = inertDriver();
  driver.cuCtxSynchronize = [] {
    ++synchronisations;
    return noted.contextWaited;
  };
  driver.cuMemcpyDtoH = [](void *, CUdeviceptr, size_t) { return CUDA_SUCCESS; }; // no reports
  driver.cuModuleGetGlobal = [](CUdeviceptr *address, size_t *bytes, CUmodule, const char *) {
    *address = 0x80000000;
    *bytes = reportBufferBytes;
    return CUDA_SUCCESS;
  };
  addGraphs(driver);
  driver.cuCtxGetCurrent = [](CUcontext *context) {
    ++noted.contexts;
    *context = nullptr;
    return CUDA_SUCCESS;
  };
  driver.cuDeviceGetAttribute = [](int *value, CUdevice_attribute, CUdevice) {
    *value = 1 << 20;
    return CUDA_SUCCESS;
  };
  driver.cuModuleLoadDataEx = [](CUmodule *, const void *, unsigned, CUjit_option *, void **) {
    return CUDA_SUCCESS;
  };
  driver.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  driver.cuModuleGetFunction = [](CUfunction *, CUmodule, const char *) { return CUDA_SUCCESS; };
  driver.cuFuncGetAttribute = [](int *value, CUfunction_attribute attribute, CUfunction) {
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
  };
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
  driver.cuPointerGetAttributes = [](unsigned, CUpointer_attribute *attributes, void **values,
                                     CUdeviceptr address) {
    if (attributes[0] != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      return CUDA_SUCCESS;
    ++noted.pointerChecks;
    *static_cast<unsigned *>(values[0]) =
        address == noted.hostMemory ? unsigned(CU_MEMORYTYPE_HOST) : unsigned(CU_MEMORYTYPE_DEVICE);
    return CUDA_SUCCESS;
  };
  driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char, size_t, CUstream) {
    ++noted.clears;
    ++noted.nodes;
    return CUDA_SUCCESS;
  };
  driver.cuTensorMapEncodeTiled = [](CUtensorMap *map, CUtensorMapDataType, cuuint32_t, void *address,
                                     const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                     const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    ++noted.encodedMaps;
    std::memcpy(map, &address, sizeof(address));
    return CUDA_SUCCESS;
  };
  driver.cuTensorMapReplaceAddress = [](CUtensorMap *map, void *address) {
    if (reinterpret_cast<CUdeviceptr>(address) == noted.refusedMap)
      return CUDA_ERROR_INVALID_VALUE;
    ++noted.replacedMaps;
    std::memcpy(map, &address, sizeof(address));
    return CUDA_SUCCESS;
  };
  driver.cuLaunchKernelEx = [](const CUlaunchConfig *config, CUfunction, void **parameters, void **) {
    ++noted.launches;
    ++noted.nodes;
    noted.stream = config->hStream;
    noted.attributes = config->numAttrs;
    if (config->blockDimX == 384) { // the product: depth, maps of A and B, alpha, C
      std::memcpy(&noted.mapAddress, parameters[1], sizeof(uint64_t));
      std::memcpy(&noted.output, parameters[4], sizeof(uint64_t));
    }
    return noted.launched;
  };
  return driver;
}

} // namespace tlc::test
