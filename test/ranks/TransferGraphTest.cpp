// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program with transfers as one CUDA graph of all ranks.
#include "runtime/cuda/CudaContext.h"
#include "test/Expect.h"
#include "test/ranks/RankGather.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {
/// Captures the launches of all ranks, on streams of their own, into one graph, and runs that so often.
Result<void> runAsGraph(std::span<const RankLaunch> given, int times) {
  std::vector<std::shared_ptr<const CudaContext>> contexts;
  std::vector<RankLaunch> launches(given.begin(), given.end());
  for (RankLaunch &launch : launches) {
    contexts.push_back(expectValue(CudaContext::create(launch.device->properties().ordinal)));
    CurrentContext scope(*contexts.back());
    CUstream stream = nullptr;
    REQUIRE(contexts.back()->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    launch.stream = {stream};
  }
  const Driver &driver = contexts.front()->driver;
  auto *first = static_cast<CUstream>(launches.front().stream.handle);
  CurrentContext scope(*contexts.front());
  REQUIRE(driver.cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
  // The other streams become part of the capture, and end with it.
  auto order = [&](const RankLaunch &earlier, const RankLaunch &later) {
    auto event = expectValue(earlier.device->record(earlier.stream));
    expectSuccess(later.device->wait(*event, later.stream));
  };
  for (size_t rank = 1; rank < launches.size(); ++rank)
    order(launches.front(), launches[rank]);
  Result<void> launched = launchRanks(launches);
  for (size_t rank = 1; rank < launches.size() && launched; ++rank)
    order(launches[rank], launches.front());
  CUgraph graph = nullptr;
  CHECK(driver.cuStreamEndCapture(first, &graph) == CUDA_SUCCESS);
  if (!launched)
    return launched;
  CUgraphExec run = nullptr;
  REQUIRE(driver.cuGraphInstantiateWithFlags(&run, graph, 0) == CUDA_SUCCESS);
  for (int i = 0; i < times; ++i)
    REQUIRE(driver.cuGraphLaunch(run, first) == CUDA_SUCCESS);
  REQUIRE(driver.cuStreamSynchronize(first) == CUDA_SUCCESS);
  for (size_t rank = 0; rank < launches.size(); ++rank) {
    CurrentContext current(*contexts[rank]);
    CHECK(driver.cuStreamDestroy(static_cast<CUstream>(launches[rank].stream.handle)) == CUDA_SUCCESS);
  }
  return {};
}
} // namespace

TEST_CASE("launches and transfers of all ranks are one CUDA graph", "[ranks][transfers][cuda]") {
  const bool toOthers = GENERATE(false, true);
  for (int64_t ranks : rankCounts()) {
    INFO(ranks << " ranks" << (toOthers ? ", to others" : ""));
    runOnRanks([&](dsl::Scope &k) { gatherRows(k, {.toOthers = toOthers}); }, gatherArguments(ranks, 3, 13),
               {.enqueue = [](std::span<const RankLaunch> launches) { return runAsGraph(launches, 3); }});
  }
}
