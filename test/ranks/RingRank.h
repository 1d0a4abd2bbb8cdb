// SPDX-License-Identifier: Apache-2.0
/// \file
/// A rank of the ring of `passOn` with a group of its own.
#pragma once

#include "runtime/cuda/CudaContext.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/RankGroup.h"
#include "test/Expect.h"
#include "test/ranks/RankRing.h"

#include <catch2/catch.hpp>
#include <functional>

namespace tlc::test {

/// This rank's memory of that name, which all ranks have, and which the group has then.
using Share = std::function<void *(std::string_view name, size_t bytes)>;

/// A rank of the ring of `passOn`.
class RingRank {
public:
  RingRank(size_t rank, size_t ranks, int gpu, std::shared_ptr<RankGroup> ofRank, const Share &share,
           const PassOptions &options = {}, const CompileOptions &compile = {})
      : device(expectValue(createCudaDevice(gpu))), group(std::move(ofRank)),
        cuda(expectValue(CudaContext::create(gpu))),
        program(
            expectValue(device->load(compiledProgram([=](dsl::Scope &k) { passOn(k, options); }, compile)))) {
    arguments.rank = int64_t(rank);
    arguments.ranks = int64_t(ranks);
    CurrentContext scope(*cuda);
    REQUIRE(cuda->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    const std::vector<float> numbers(ringRows * ringColumns, float(rank + 1));
    for (int i = 0; i < 2; ++i) {
      void *memory = expectValue(device->allocate(bytes));
      expectSuccess(device->copyToDevice(memory, numbers.data(), bytes));
      arguments.tensors.push_back(contiguousView(memory, ElementType::f32, {ringRows, ringColumns}));
    }
    const std::vector<int64_t> dimensions =
        expectValue(bindDimensions(program->artifact(), arguments.tensors, int64_t(rank), int64_t(ranks)));
    for (const WorkspaceRequest &request :
         expectValue(workspaceRequests(program->artifact(), dimensions, device->properties()))) {
      arguments.tensors.push_back(request.view(share(request.name, request.bytes)));
    }
  }

  Result<void> launch() { return group->launch(*device, program, arguments, {stream}); }
  Result<void> synchronize(double seconds = 10) {
    return group->synchronize({stream}, std::chrono::duration<double>(seconds));
  }
  void capture() {
    CurrentContext scope(*cuda);
    const Driver &driver = cuda->driver;
    REQUIRE(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
    expectSuccess(launch());
    CHECK_THAT(
        synchronize().error().message,
        Catch::Contains("expected a stream that runs, but got one that is captured; end the capture first"));
    CUgraph graph = nullptr;
    REQUIRE(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    REQUIRE(driver.cuGraphInstantiateWithFlags(&captured, graph, 0) == CUDA_SUCCESS);
  }
  void replay() {
    CurrentContext scope(*cuda);
    REQUIRE(cuda->driver.cuGraphLaunch(captured, stream) == CUDA_SUCCESS);
  }
  /// Does not wait for a stream that may wait for ever.
  void release() { group.reset(); }
  /// What the rank before this one has passed on, and nothing else from now on.
  float takeResult() {
    std::vector<float> result(ringRows * ringColumns);
    expectSuccess(device->copyToHost(result.data(), arguments.tensors[1].data, bytes));
    const float first = result.front();
    CHECK(result == std::vector<float>(result.size(), first));
    std::ranges::fill(result, -1.0F);
    expectSuccess(device->copyToDevice(arguments.tensors[1].data, result.data(), bytes));
    return first;
  }

  float expected() const { return arguments.rank == 0 ? float(arguments.ranks) : float(arguments.rank); }
  /// Often, also in a graph: "works", or what is wrong.
  std::string passAround() {
    for (int i = 0; i < 100; ++i)
      expectSuccess(launch());
    expectSuccess(synchronize());
    if (takeResult() != expected())
      return "wrong numbers";
    capture();
    for (int i = 0; i < 100; ++i)
      replay();
    expectSuccess(synchronize());
    return takeResult() == expected() ? "works" : "wrong numbers in a graph";
  }

private:
  static constexpr size_t bytes = size_t(ringRows * ringColumns) * sizeof(float);
  const std::unique_ptr<Device> device;
  std::shared_ptr<RankGroup> group;
  const std::shared_ptr<const CudaContext> cuda;
  const std::shared_ptr<const LoadedProgram> program;
  CUstream stream = nullptr;
  CUgraphExec captured = nullptr;
  LaunchArguments arguments;
};

/// Flags begin as zeros, all else with any content.
inline void initialize(Device &device, std::string_view name, void *memory, size_t bytes) {
  const std::vector<std::byte> content(bytes, std::byte(name == "flags" ? 0 : 0xA5));
  expectSuccess(device.copyToDevice(memory, content.data(), bytes));
}

} // namespace tlc::test
