// SPDX-License-Identifier: Apache-2.0
/// \file
/// The target of a GPU and what it refuses, by its compute capability, with a driver without a GPU.
#include "runtime/cuda/CudaDeviceOnContext.h"
#include "test/Expect.h"
#include "test/unit/artifact/SampleArtifact.h"
#include "test/unit/device/InertDriver.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace tlc;
using namespace tlc::test;

namespace {

int major = 0, minor = 0; ///< of the GPU

std::unique_ptr<Device> openGpu(int itsMajor, int itsMinor) {
  major = itsMajor, minor = itsMinor;
  Driver driver = inertDriver();
  driver.cuDeviceGetName = [](char *name, int, CUdevice) {
    std::strcpy(name, "the GPU");
    return CUDA_SUCCESS;
  };
  driver.cuDeviceGetAttribute = [](int *value, CUdevice_attribute attribute, CUdevice) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? major
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? minor
                                                                         : 20;
    return CUDA_SUCCESS;
  };
  driver.cuMemAlloc = [](CUdeviceptr *address, size_t) {
    *address = 0x1000;
    return CUDA_SUCCESS;
  };
  driver.cuMemFree = [](CUdeviceptr) { return CUDA_SUCCESS; };
  driver.cuMemcpyHtoD = [](CUdeviceptr, const void *, size_t) { return CUDA_SUCCESS; };
  driver.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  return expectValue(createCudaDevice(std::make_shared<const CudaContext>(driver, 0, 1, 0, nullptr)));
}

std::string refusal(std::string target, int itsMajor, int itsMinor) {
  Artifact artifact = sampleArtifact();
  artifact.target = std::move(target);
  return openGpu(itsMajor, itsMinor)->load(artifact).error().message;
}

} // namespace

TEST_CASE("a GPU takes the best target that runs on it", "[device][target]") {
  CHECK(openGpu(8, 6)->properties().target == "sm_80");
  CHECK(openGpu(8, 9)->properties().target == "sm_89");
  CHECK(openGpu(10, 3)->properties().target == "sm_103a");
  CHECK(openGpu(11, 0)->properties().target == "sm_110a");
  CHECK(openGpu(12, 1)->properties().target == "sm_89");
}

TEST_CASE("a GPU refuses programs for others, by both names", "[device][target]") {
  CHECK(refusal("sm_103a", 10, 0) ==
        "'gemm' is compiled for sm_103a, but the GPU has compute capability 10.0; compile it for sm_100a");
  CHECK(refusal("sm_100a", 10, 3) ==
        "'gemm' is compiled for sm_100a, but the GPU has compute capability 10.3; compile it for sm_103a");
  CHECK(refusal("sm_100f", 11, 0) ==
        "'gemm' is compiled for sm_100f, but the GPU has compute capability 11.0; compile it for sm_110a");
}
