// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prepared launches, with a driver that only notes what it is asked for.
#include "test/Expect.h"
#include "test/unit/device/AllocationCount.h"
#include "test/unit/device/CudaFixture.h"

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>

using namespace tlc;
using namespace tlc::test;

TEST_CASE("a prepared launch is enqueued again without checks, maps or allocations", "[device][launch]") {
  CudaFixture fixture;
  CHECK(noted.encodedMaps == 2);
  const size_t checks = noted.pointerChecks;
  CHECK(checks == 4);
  bool succeeded = true;
  {
    AllocationCount count;
    for (int i = 0; i < 3; ++i)
      succeeded = succeeded && bool(fixture.launch->enqueue(mainStream));
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.launches == 6); // of two kernels
  CHECK(noted.clears == 6);   // C and the workspace
  CHECK(noted.encodedMaps == 2);
  CHECK(noted.pointerChecks == checks);
  CHECK(noted.stream == mainStream.handle);
  CHECK(noted.output == 0x30000000);
}

TEST_CASE("another address of a tensor changes its maps alone, and allocates nothing", "[device][launch]") {
  CudaFixture fixture;
  const size_t checks = noted.pointerChecks;
  bool succeeded = true;
  {
    AllocationCount count;
    succeeded = bool(fixture.launch->setAddress(0, address(0x50000000))) &&
                bool(fixture.launch->setAddress(2, address(0x60000000))) &&
                bool(fixture.launch->enqueue(mainStream));
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.encodedMaps == 2);
  CHECK(noted.replacedMaps == 1);
  CHECK(noted.mapAddress == 0x50000000);
  CHECK(noted.pointerChecks == checks + 2);
  CHECK(noted.output == 0x60000000);
}

TEST_CASE("tensors move at once, and those that stay are not checked again", "[device][launch]") {
  CudaFixture fixture;
  const size_t checks = noted.pointerChecks, contexts = noted.contexts;
  const std::array addresses = {address(0x30000000), address(0x20000000), address(0x10000000),
                                address(0x60000000)}; // A and C trade places
  CHECK(bool(fixture.launch->setAddresses(0, addresses)));
  CHECK(noted.pointerChecks == checks + 3);
  CHECK(noted.contexts == contexts + 1);
  CHECK(noted.replacedMaps == 1);
  CHECK(bool(fixture.launch->enqueue(mainStream)));
  CHECK(noted.mapAddress == 0x30000000);
  CHECK(noted.output == 0x10000000);
  CHECK(bool(fixture.launch->setAddresses(0, addresses)));
  CHECK(noted.pointerChecks == checks + 3);

  noted.hostMemory = 0x70000000;
  const std::array wrong = {address(0x50000000), address(0x20000000), address(0x70000000)};
  CHECK_FALSE(fixture.launch->setAddresses(0, wrong));
  CHECK(bool(fixture.launch->enqueue(mainStream)));
  CHECK(noted.mapAddress == 0x30000000);
  CHECK(noted.output == 0x10000000);
  CHECK_FALSE(fixture.launch->setAddresses(3, std::span(addresses).first(2)));
}

TEST_CASE("an address that the driver refuses leaves the launch as it was", "[device][launch]") {
  CudaFixture fixture;
  noted.refusedMap = 0x50000000;
  const Result<void> moved = fixture.launch->setAddress(0, address(0x50000000));
  REQUIRE_FALSE(moved);
  CHECK(moved.error().message == "argument 'A': the driver refuses its tensor map: CUDA_ERROR (refused)");
  expectSuccess(fixture.launch->enqueue(mainStream));
  CHECK(noted.mapAddress == 0x10000000);
}

TEST_CASE("an address of the host is refused, and the launch is as it was", "[device][launch]") {
  CudaFixture fixture;
  noted.hostMemory = 0x70000000;
  for (size_t tensor : {0, 2, 3}) {
    CAPTURE(tensor);
    Result<void> moved = fixture.launch->setAddress(tensor, address(0x70000000));
    REQUIRE_FALSE(moved);
    CHECK_THAT(moved.error().message, Catch::Matchers::Contains("expected memory of GPU 0, but 0x70000000 is "
                                                                "an address of the host"));
  }
  CHECK(bool(fixture.launch->enqueue(mainStream)));
  CHECK(noted.mapAddress == 0x10000000);
  CHECK(noted.output == 0x30000000);
}

TEST_CASE("a launch that may begin before the one before it ends says so, and its cluster",
          "[device][launch]") {
  Artifact artifact = sampleArtifact();
  artifact.variants[0].launches[1].ordered = true;
  artifact.variants[0].launches[1].cluster = {2, 1, 1};
  CudaFixture fixture(artifact);
  CHECK(bool(fixture.launch->enqueue(mainStream)));
  CHECK(noted.attributes == 2);
}

TEST_CASE("a refused address for which another variant would be launched changes nothing",
          "[device][launch]") {
  CudaFixture fixture;
  noted.hostMemory = 0x70000002; // not aligned to 16
  CHECK_FALSE(fixture.launch->setAddress(0, address(0x70000002)));
  CHECK(bool(fixture.launch->enqueue(mainStream)));
  CHECK(noted.launches == 2); // of the aligned variant
  CHECK(noted.output == 0x30000000);
  CHECK(bool(fixture.launch->setAddress(0, address(0x70000004))));
  CHECK(bool(fixture.launch->enqueue(mainStream)));
  CHECK(noted.launches == 3); // of the general one
}

TEST_CASE("tensors that move after a capture are moved in its nodes, once", "[device][graph]") {
  CudaFixture fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(mainStream.handle), [&] { return fixture.launch->enqueue(mainStream); }));
  CHECK(noted.nodes == 4); // clears C and the workspace, launches two kernels
  expectSuccess(graph->launch(mainStream));
  CHECK(noted.movedKernels.empty());
  expectSuccess(fixture.launch->setAddress(2, address(0x60000000)));
  expectSuccess(graph->launch(mainStream));
  expectSuccess(graph->launch(mainStream));
  CHECK(noted.graphLaunches == 3);
  CHECK(noted.movedFills == std::vector<uintptr_t>{1, 2});
  CHECK(noted.movedKernels == std::vector<uintptr_t>{3, 4});
  CHECK(noted.movedFill == 0x60000000);
  CHECK(noted.movedOutput == 0x60000000);
}

TEST_CASE("a launch whose nodes the driver does not tell is not captured", "[device][graph]") {
  CudaFixture fixture;
  const auto graph = fixture.resources.captures.capture(static_cast<CUstream>(mainStream.handle), [&] {
    noted.captureInfo = CUDA_ERROR_LOSSY_QUERY;
    return fixture.launch->enqueue(mainStream);
  });
  REQUIRE_FALSE(graph);
  CHECK(graph.error().message == "cannot query the capture of a stream: CUDA_ERROR (refused)");
  CHECK(noted.launches == 0);
  CHECK_FALSE(noted.captures);
}

TEST_CASE("an exception ends the capture of the driver", "[device][graph]") {
  CudaFixture fixture;
  CudaCaptures &captures = fixture.resources.captures;
  CHECK_THROWS_AS(captures.capture(static_cast<CUstream>(mainStream.handle),
                                   []() -> Result<void> { throw std::runtime_error("no more"); }),
                  std::runtime_error);
  CHECK_FALSE(noted.captures);
  CHECK_FALSE(CaptureRegistry::ofProcess().isOfThisThread());
  CHECK(noted.graphs == 0);
  expectSuccess(fixture.launch->enqueue(mainStream));
  expectSuccess(expectValue(captures.capture(static_cast<CUstream>(mainStream.handle), [&] {
                  return fixture.launch->enqueue(mainStream);
                }))->launch(mainStream));
  CHECK(noted.graphLaunches == 1);
  CHECK(noted.graphs == 0);
}

TEST_CASE("a graph outlives the prepared launches in it", "[device][graph]") {
  CudaFixture fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(mainStream.handle), [&] { return fixture.launch->enqueue(mainStream); }));
  expectSuccess(fixture.launch->setAddress(2, address(0x60000000)));
  fixture.launch.reset();
  expectSuccess(graph->launch(mainStream));
  CHECK(noted.movedKernels == std::vector<uintptr_t>{3, 4});
  CHECK(noted.movedOutput == 0x60000000);
}

TEST_CASE("a tensor that takes another variant does not move in a graph", "[device][graph]") {
  CudaFixture fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(mainStream.handle), [&] { return fixture.launch->enqueue(mainStream); }));
  expectSuccess(fixture.launch->setAddress(0, address(0x70000004)));
  const Result<void> launched = graph->launch(mainStream);
  REQUIRE_FALSE(launched);
  CHECK_THAT(launched.error().message,
             Catch::Matchers::Contains("has moved since it was captured in this graph, where it cannot move "
                                       "because its new address is aligned otherwise and takes variant "
                                       "'general'; capture it again"));
  CHECK(noted.graphLaunches == 0);
}

TEST_CASE("launches are noted for errors that come later, those of a graph when it is launched",
          "[device][log]") {
  CudaFixture fixture;
  const LaunchLog &log = fixture.context->log;
  auto launches = [&] { return log.attribute({ErrorKind::execution, "failed"}).message; };
  expectSuccess(fixture.launch->enqueue(mainStream));
  const std::string once = "failed; launched since the last synchronisation: 'gemm' with M = 200, N = 64, "
                           "K = 128 on stream 0x1234";
  CHECK(launches() == once);
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(mainStream.handle), [&] { return fixture.launch->enqueue(mainStream); }));
  CHECK(launches() == once);
  expectSuccess(graph->launch(mainStream));
  CHECK(launches() == once + " (2 times)");
}

TEST_CASE("a device that waits for launches names the one that fails", "[device][log]") {
  CudaFixture fixture(sampleArtifact(), true);
  expectSuccess(fixture.launch->enqueue(mainStream));
  CHECK(noted.waits == 1);
  CHECK(fixture.context->log.attribute({ErrorKind::execution, "failed"}).message == "failed");
  noted.waited = CUDA_ERROR_ILLEGAL_ADDRESS;
  const Result<void> launched = fixture.launch->enqueue(mainStream);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().kind == ErrorKind::execution);
  CHECK(launched.error().message ==
        "'gemm' with M = 200, N = 64, K = 128 on stream 0x1234 failed: CUDA_ERROR (refused)");
  noted.captures = true;
  expectSuccess(fixture.launch->enqueue(mainStream)); // a capture does not wait
  CHECK(noted.waits == 2);
}

TEST_CASE("a device that waits for launches waits for none of several ranks", "[device][log]") {
  CudaFixture fixture(sampleArtifact(), true);
  LaunchArguments arguments = sampleArguments();
  arguments.ranks = 2;
  const auto launch =
      expectValue(CudaLaunch::create(fixture.resources, *fixture.program, arguments, sampleDevice()));
  expectSuccess(launch->enqueue(mainStream));
  expectSuccess(
      CudaLaunch::launch(fixture.resources, *fixture.program, arguments, sampleDevice(), mainStream));
  CHECK(noted.launches == 4);
  CHECK(noted.waits == 0);
  expectSuccess(fixture.launch->enqueue(mainStream));
  CHECK(noted.waits == 1);
}

TEST_CASE("a launch that fails for an earlier one names both", "[device][log]") {
  CudaFixture fixture;
  expectSuccess(fixture.launch->enqueue({}));
  noted.launched = CUDA_ERROR_ILLEGAL_ADDRESS;
  const Result<void> launched = fixture.launch->enqueue(mainStream);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().kind == ErrorKind::execution);
  CHECK_THAT(launched.error().message,
             Catch::Matchers::StartsWith("cannot launch 'gemm_aligned' with 2 x 1 x 1 blocks of 384 threads: "
                                         "CUDA_ERROR (refused); launched since the last synchronisation: "
                                         "'gemm' with M = 200, N = 64, K = 128 on the default stream, 'gemm' "
                                         "with M = 200, N = 64, K = 128 on stream 0x1234;"));
  noted.launched = CUDA_ERROR_INVALID_VALUE; // of this launch alone
  const Result<void> refused = fixture.launch->enqueue(mainStream);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Matchers::EndsWith("threads: CUDA_ERROR (refused)"));
}

TEST_CASE("a launch of another device of the GPU is part of the capture that it joins", "[device][graph]") {
  CudaFixture fixture;
  LaunchResources other{std::make_shared<const CudaContext>(notingDriver(), 0, 1, 0, nullptr)};
  const auto launch =
      expectValue(CudaLaunch::create(other, *fixture.program, sampleArguments(), sampleDevice()));
  auto logged = [&](const CudaContext &cuda) { return cuda.log.attribute({}).message; };
  const std::unique_ptr<Graph> graph =
      expectValue(fixture.resources.captures.capture(static_cast<CUstream>(mainStream.handle), [&] {
        CHECK(expectValue(other.captures.find(static_cast<CUstream>(mainStream.handle))));
        const auto nested =
            other.captures.capture(static_cast<CUstream>(mainStream.handle), [] { return Result<void>(); });
        CHECK_FALSE(nested);
        return launch->enqueue(mainStream);
      }));
  CHECK(logged(*other.cuda).empty());
  expectSuccess(launch->setAddress(2, address(0x60000000)));
  expectSuccess(graph->launch(mainStream));
  CHECK(noted.movedKernels == std::vector<uintptr_t>{3, 4});
  CHECK(noted.movedOutput == 0x60000000);
  CHECK_THAT(logged(*other.cuda), Catch::Matchers::EndsWith("K = 128 on stream 0x1234"));
  CHECK(logged(*fixture.context).empty());
  CHECK_FALSE(expectValue(other.captures.find(static_cast<CUstream>(mainStream.handle))));
}

TEST_CASE("reports are not read while a graph of programs that report is launched", "[device][graph]") {
  Artifact artifact = sampleArtifact();
  artifact.variants[0].reports = {{ReportSite::Kind::print, "here", "a.cpp:1:2", {}}};
  CudaFixture fixture(artifact);
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(mainStream.handle), [&] { return fixture.launch->enqueue(mainStream); }));
  std::thread reader;
  bool hasFailed = false; // as the synchronisation does
  synchronisations = 0;
  noted.onGraphLaunch = [&] {
    reader = std::thread([&] {
      Reports reports;
      hasFailed = !fixture.resources.reporting.take(reports);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(synchronisations == 0);
  };
  expectSuccess(graph->launch(mainStream));
  reader.join();
  CHECK(hasFailed);
  CHECK(synchronisations == 1);
}

TEST_CASE("a launch of which the driver reports several nodes is not captured", "[device][graph]") {
  CudaFixture fixture;
  noted.lastNodes = 2;
  const auto graph = fixture.resources.captures.capture(static_cast<CUstream>(mainStream.handle),
                                                        [&] { return fixture.launch->enqueue(mainStream); });
  REQUIRE_FALSE(graph);
  CHECK(graph.error().message == "the driver reports no single graph node for a launch");
}

TEST_CASE("the driver is not asked for a graph on a captured stream", "[device][graph]") {
  CudaFixture fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(mainStream.handle), [&] { return fixture.launch->enqueue(mainStream); }));
  noted.captures = true;
  const Result<void> launched = graph->launch(mainStream);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().message ==
        "cannot launch a graph on a captured stream; do it before or after the capture");
  CHECK(noted.graphLaunches == 0);
}

TEST_CASE("reading reports ends the launches of all streams", "[device][log]") {
  Artifact artifact = sampleArtifact();
  artifact.variants[0].reports = {{ReportSite::Kind::print, "here", "a.cpp:1:2", {}}};
  CudaFixture fixture(artifact);
  expectSuccess(fixture.launch->enqueue(mainStream));
  expectSuccess(fixture.launch->enqueue({}));
  CHECK_FALSE(fixture.context->log.attribute({}).message.empty());
  noted.contextWaited = CUDA_SUCCESS;
  Reports reports;
  expectSuccess(fixture.resources.reporting.take(reports));
  CHECK(fixture.context->log.attribute({}).message.empty());
}
