// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention called on a GPU of sm_90, and captured in a graph.
#include "kernels/library/Backward.h"
#include "runtime/cuda/CudaContext.h"
#include "runtime/cuda/CudaDevice.h"
#include "test/Expect.h"
#include "test/unit/library/AttentionCall.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace tlc;
using namespace tlc::attention;
using namespace tlc::test;

std::unique_ptr<Device> test::openDevice(std::optional<int> multiprocessors) {
  return expectValue(createCudaDevice(0, {.multiprocessors = multiprocessors}));
}

TEST_CASE("forward and backward can be captured in one graph, which then sees other lengths",
          "[attention][cuda]") {
  CountingDevice device;
  ArtifactCache artifacts;
  Programs programs{device, artifacts};
  auto seed = uint64_t(Catch::rngSeed());
  CAPTURE(seed);
  kernels::Random random(seed);
  constexpr ElementType type = ElementType::bf16;
  constexpr int64_t rows = 300, h = 4, hkv = 2, d = 64;
  CallTensors tensors{.q = newTensor(device, type, {rows, h, d}),
                      .k = newTensor(device, type, {rows, hkv, d}),
                      .v = newTensor(device, type, {rows, hkv, d}),
                      .o = newTensor(device, type, {rows, h, d}),
                      .lse = newTensor(device, ElementType::f32, {h, rows}),
                      .queryLengths = newTensor(device, ElementType::i32, {4}),
                      .keyLengths = newTensor(device, ElementType::i32, {4})};
  Slice dO = newTensor(device, type, {rows, h, d}), dq = newTensor(device, type, {rows, h, d}),
        dk = newTensor(device, type, {rows, hkv, d}), dv = newTensor(device, type, {rows, hkv, d});
  ForwardOptions options{.mask = {.causal = CausalAlignment::right}, .lengths = Lengths::packed};
  auto fill = [&](const std::vector<int64_t> &begins) {
    for (const Slice *slice : {&tensors.q, &tensors.k, &tensors.v, &dO})
      slice->fill(random);
    for (const Slice *slice : {&tensors.o, &tensors.lse, &dq, &dk, &dv})
      std::ranges::fill(slice->block->values, NAN);
    for (const Slice *slice : {&dO, &dq, &dk, &dv})
      slice->block->upload();
    tensors.queryLengths->fill(begins);
    tensors.keyLengths->fill(begins);
    upload(tensors);
  };
  fill({0, 100, 100, rows});
  size_t bytes = expectValue(workspaceSize(programs, tensors.views(), options));
  auto workspace = expectValue(kernels::DeviceMemory::allocate(device, bytes));
  const BackwardTensors gradients = GradientTensors{tensors, dO, dq, dk, dv}.views();
  const BackwardOptions ofBackward{.mask = options.mask, .lengths = options.lengths};
  size_t bytesOfBackward = expectValue(workspaceSize(programs, gradients, ofBackward));
  auto workspaceOfBackward = expectValue(kernels::DeviceMemory::allocate(device, bytesOfBackward));

  auto context = expectValue(CudaContext::create(0));
  const Driver &driver = context->driver;
  CurrentContext scope(*context);
  CUstream stream = nullptr;
  REQUIRE(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  expectSuccess(forward(programs, {stream}, tensors.views(), {workspace.address(), bytes}, options));
  expectSuccess(
      backward(programs, {stream}, gradients, {workspaceOfBackward.address(), bytesOfBackward}, ofBackward));
  CUgraph graph = nullptr;
  REQUIRE(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  REQUIRE(driver.cuGraphInstantiateWithFlags(&executable, graph, 0) == CUDA_SUCCESS);
  tensors.o.block->download();
  CHECK(std::isnan(tensors.o.at(0))); // nothing has run yet

  for (const std::vector<int64_t> &begins :
       {std::vector<int64_t>{0, 100, 100, rows}, {0, 1, 277, rows}, {0, 0, 0, rows}}) {
    CAPTURE(begins);
    fill(begins);
    REQUIRE(driver.cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    expectSuccess(device.synchronize({stream}));
    checkOutputs(tensors, options);
    std::vector<double> q = tensors.q.values(), k = tensors.k.values(), v = tensors.v.values(),
                        ofOutput = dO.values();
    kernels::AttentionGradients expected(shapeOf(tensors, options), {q, k, v, ofOutput});
    double ofProduct = std::sqrt(double(d)) / 3;
    checkGradient(dq, expected, &kernels::AttentionGradients::ofQueries, ofProduct / std::sqrt(double(d)));
    checkGradient(dk, expected, &kernels::AttentionGradients::ofKeys, ofProduct / std::sqrt(double(d)));
    checkGradient(dv, expected, &kernels::AttentionGradients::ofValues, 1);
  }
  REQUIRE(driver.cuStreamDestroy(stream) == CUDA_SUCCESS);
}
