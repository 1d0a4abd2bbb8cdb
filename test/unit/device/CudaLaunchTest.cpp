// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prepared launches, with a driver that only notes what it is asked for.
#include "runtime/cuda/CudaLaunch.h"

#include "test/Expect.h"
#include "test/unit/device/InertDriver.h"
#include "test/unit/device/SampleArguments.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

using namespace tlc;
using namespace tlc::test;

namespace {

thread_local bool countsAllocations = false;
thread_local size_t allocations = 0;

/// Counts what this thread's code allocates while it exists.
class AllocationCount {
public:
  AllocationCount() { allocations = 0, countsAllocations = true; }
  AllocationCount(const AllocationCount &) = delete;
  ~AllocationCount() { countsAllocations = false; }
};

void *allocate(std::size_t bytes) {
  allocations += countsAllocations;
  if (void *memory = std::malloc(std::max<std::size_t>(bytes, 1)))
    return memory;
  throw std::bad_alloc();
}

/// What the driver was asked for.
struct Noted {
  size_t launches = 0, encodedMaps = 0, clears = 0, pointerChecks = 0;
  uint64_t output = 0;     ///< C of the last launch of the product
  uint64_t mapAddress = 0; ///< of the first map in the last launch of that kernel
  CUstream stream = nullptr;
  unsigned attributes = 0; ///< of the last launch
  CUdeviceptr hostMemory = 0;
  bool captures = false;                           ///< the stream
  uintptr_t nodes = 0;                             ///< that were captured
  std::vector<uintptr_t> movedKernels, movedFills; ///< nodes that were changed
  uint64_t movedOutput = 0, movedFill = 0;         ///< C in the last ones
  int graphs = 0;                                  ///< that exist
  size_t graphLaunches = 0, waits = 0, lastNodes = 1;
  std::function<void()> onGraphLaunch = {};
  CUresult launched = CUDA_SUCCESS, waited = CUDA_SUCCESS, contextWaited = CUDA_ERROR_INVALID_VALUE,
           captureInfo = CUDA_SUCCESS;
} noted;
std::atomic<int> synchronisations = 0; ///< of the context

CUgraphNode nodeOf(uintptr_t number) { return reinterpret_cast<CUgraphNode>(number); }

/// Captures, of which each thing enqueued is a node with the next number.
void addGraphs(Driver &driver) {
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

Driver notingDriver() {
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
  driver.cuPointerGetAttributes = [](unsigned, CUpointer_attribute *, void **values, CUdeviceptr address) {
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

struct Fixture {
  std::shared_ptr<const CudaContext> context =
      std::make_shared<const CudaContext>(notingDriver(), 0, 1, 0, nullptr);
  LaunchResources resources{context};
  std::shared_ptr<const CudaProgram> program;
  std::unique_ptr<PreparedLaunch> launch;

  explicit Fixture(Artifact artifact = sampleArtifact(), bool waitsForLaunches = false) {
    noted = {};
    resources.waitsForLaunches = waitsForLaunches;
    Result<std::shared_ptr<const CudaProgram>> loaded = CudaProgram::load(context, std::move(artifact));
    REQUIRE(loaded);
    program = *loaded;
    Result<std::unique_ptr<PreparedLaunch>> prepared =
        CudaLaunch::create(resources, *program, sampleArguments(), sampleDevice());
    REQUIRE(prepared);
    launch = std::move(*prepared);
  }
};

const Stream main = {reinterpret_cast<void *>(uintptr_t(0x1234))};

} // namespace

// GCC and clang let a program replace these in any file.
void *operator new(std::size_t bytes) { return allocate(bytes); }
void *operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("a prepared launch is enqueued again without checks, maps or allocations", "[device][launch]") {
  Fixture fixture;
  CHECK(noted.encodedMaps == 2);
  const size_t checks = noted.pointerChecks;
  CHECK(checks == 4);
  bool succeeded = true;
  {
    AllocationCount count;
    for (int i = 0; i < 3; ++i)
      succeeded = succeeded && bool(fixture.launch->enqueue(main));
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.launches == 6); // of two kernels
  CHECK(noted.clears == 6);   // C and the workspace
  CHECK(noted.encodedMaps == 2);
  CHECK(noted.pointerChecks == checks);
  CHECK(noted.stream == main.handle);
  CHECK(noted.output == 0x30000000);
}

TEST_CASE("another address of a tensor encodes its maps alone, and allocates nothing", "[device][launch]") {
  Fixture fixture;
  const size_t checks = noted.pointerChecks;
  bool succeeded = true;
  {
    AllocationCount count;
    succeeded = bool(fixture.launch->setAddress(0, address(0x50000000))) &&
                bool(fixture.launch->setAddress(2, address(0x60000000))) &&
                bool(fixture.launch->enqueue(main));
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.encodedMaps == 3);
  CHECK(noted.mapAddress == 0x50000000);
  CHECK(noted.pointerChecks == checks + 2);
  CHECK(noted.output == 0x60000000);
}

TEST_CASE("an address of the host is refused, and the launch is as it was", "[device][launch]") {
  Fixture fixture;
  noted.hostMemory = 0x70000000;
  for (size_t tensor : {0, 2, 3}) {
    CAPTURE(tensor);
    Result<void> moved = fixture.launch->setAddress(tensor, address(0x70000000));
    REQUIRE_FALSE(moved);
    CHECK_THAT(moved.error().message, Catch::Matchers::Contains("expected memory of GPU 0, but 0x70000000 is "
                                                                "an address of the host"));
  }
  CHECK(bool(fixture.launch->enqueue(main)));
  CHECK(noted.mapAddress == 0x10000000);
  CHECK(noted.output == 0x30000000);
}

TEST_CASE("a launch that may begin before the one before it ends says so, and its cluster",
          "[device][launch]") {
  Artifact artifact = sampleArtifact();
  artifact.variants[0].launches[1].ordered = true;
  artifact.variants[0].launches[1].cluster = {2, 1, 1};
  Fixture fixture(artifact);
  CHECK(bool(fixture.launch->enqueue(main)));
  CHECK(noted.attributes == 2);
}

TEST_CASE("a refused address for which another variant would be launched changes nothing",
          "[device][launch]") {
  Fixture fixture;
  noted.hostMemory = 0x70000002; // not aligned to 16
  CHECK_FALSE(fixture.launch->setAddress(0, address(0x70000002)));
  CHECK(bool(fixture.launch->enqueue(main)));
  CHECK(noted.launches == 2); // of the aligned variant
  CHECK(noted.output == 0x30000000);
  CHECK(bool(fixture.launch->setAddress(0, address(0x70000004))));
  CHECK(bool(fixture.launch->enqueue(main)));
  CHECK(noted.launches == 3); // of the general one
}

TEST_CASE("tensors that move after a capture are moved in its nodes, once", "[device][graph]") {
  Fixture fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(main.handle), [&] { return fixture.launch->enqueue(main); }));
  CHECK(noted.nodes == 4); // clears C and the workspace, launches two kernels
  expectSuccess(graph->launch(main));
  CHECK(noted.movedKernels.empty());
  expectSuccess(fixture.launch->setAddress(2, address(0x60000000)));
  expectSuccess(graph->launch(main));
  expectSuccess(graph->launch(main));
  CHECK(noted.graphLaunches == 3);
  CHECK(noted.movedFills == std::vector<uintptr_t>{1, 2});
  CHECK(noted.movedKernels == std::vector<uintptr_t>{3, 4});
  CHECK(noted.movedFill == 0x60000000);
  CHECK(noted.movedOutput == 0x60000000);
}

TEST_CASE("a launch whose nodes the driver does not tell is not captured", "[device][graph]") {
  Fixture fixture;
  const auto graph = fixture.resources.captures.capture(static_cast<CUstream>(main.handle), [&] {
    noted.captureInfo = CUDA_ERROR_LOSSY_QUERY;
    return fixture.launch->enqueue(main);
  });
  REQUIRE_FALSE(graph);
  CHECK(graph.error().message == "cannot query the capture of a stream: CUDA_ERROR (refused)");
  CHECK(noted.launches == 0);
  CHECK_FALSE(noted.captures);
}

TEST_CASE("an exception ends the capture of the driver", "[device][graph]") {
  Fixture fixture;
  CudaCaptures &captures = fixture.resources.captures;
  CHECK_THROWS_AS(captures.capture(static_cast<CUstream>(main.handle),
                                   []() -> Result<void> { throw std::runtime_error("no more"); }),
                  std::runtime_error);
  CHECK_FALSE(noted.captures);
  CHECK_FALSE(CaptureRegistry::ofProcess().isOfThisThread());
  CHECK(noted.graphs == 0);
  expectSuccess(fixture.launch->enqueue(main));
  expectSuccess(expectValue(captures.capture(static_cast<CUstream>(main.handle), [&] {
                  return fixture.launch->enqueue(main);
                }))->launch(main));
  CHECK(noted.graphLaunches == 1);
  CHECK(noted.graphs == 0);
}

TEST_CASE("a graph outlives the prepared launches in it", "[device][graph]") {
  Fixture fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(main.handle), [&] { return fixture.launch->enqueue(main); }));
  expectSuccess(fixture.launch->setAddress(2, address(0x60000000)));
  fixture.launch.reset();
  expectSuccess(graph->launch(main));
  CHECK(noted.movedKernels == std::vector<uintptr_t>{3, 4});
  CHECK(noted.movedOutput == 0x60000000);
}

TEST_CASE("a tensor that takes another variant does not move in a graph", "[device][graph]") {
  Fixture fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(main.handle), [&] { return fixture.launch->enqueue(main); }));
  expectSuccess(fixture.launch->setAddress(0, address(0x70000004)));
  const Result<void> launched = graph->launch(main);
  REQUIRE_FALSE(launched);
  CHECK_THAT(launched.error().message,
             Catch::Matchers::Contains("has moved since it was captured in this graph, where it cannot move "
                                       "because its new address is aligned otherwise and takes variant "
                                       "'general'; capture it again"));
  CHECK(noted.graphLaunches == 0);
}

TEST_CASE("launches are noted for errors that come later, those of a graph when it is launched",
          "[device][log]") {
  Fixture fixture;
  const LaunchLog &log = fixture.context->log;
  auto launches = [&] { return log.attribute({ErrorKind::execution, "failed"}).message; };
  expectSuccess(fixture.launch->enqueue(main));
  const std::string once = "failed; launched since the last synchronisation: 'gemm' with M = 200, N = 64, "
                           "K = 128 on stream 0x1234";
  CHECK(launches() == once);
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(main.handle), [&] { return fixture.launch->enqueue(main); }));
  CHECK(launches() == once);
  expectSuccess(graph->launch(main));
  CHECK(launches() == once + " (2 times)");
}

TEST_CASE("a device that waits for launches names the one that fails", "[device][log]") {
  Fixture fixture(sampleArtifact(), true);
  expectSuccess(fixture.launch->enqueue(main));
  CHECK(noted.waits == 1);
  CHECK(fixture.context->log.attribute({ErrorKind::execution, "failed"}).message == "failed");
  noted.waited = CUDA_ERROR_ILLEGAL_ADDRESS;
  const Result<void> launched = fixture.launch->enqueue(main);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().kind == ErrorKind::execution);
  CHECK(launched.error().message ==
        "'gemm' with M = 200, N = 64, K = 128 on stream 0x1234 failed: CUDA_ERROR (refused)");
  noted.captures = true;
  expectSuccess(fixture.launch->enqueue(main)); // a capture does not wait
  CHECK(noted.waits == 2);
}

TEST_CASE("a device that waits for launches waits for none of several ranks", "[device][log]") {
  Fixture fixture(sampleArtifact(), true);
  LaunchArguments arguments = sampleArguments();
  arguments.ranks = 2;
  const auto launch =
      expectValue(CudaLaunch::create(fixture.resources, *fixture.program, arguments, sampleDevice()));
  expectSuccess(launch->enqueue(main));
  expectSuccess(
      CudaLaunch::enqueueOnce(fixture.resources, *fixture.program, arguments, sampleDevice(), main));
  CHECK(noted.launches == 4);
  CHECK(noted.waits == 0);
  expectSuccess(fixture.launch->enqueue(main));
  CHECK(noted.waits == 1);
}

TEST_CASE("a launch that fails for an earlier one names both", "[device][log]") {
  Fixture fixture;
  expectSuccess(fixture.launch->enqueue({}));
  noted.launched = CUDA_ERROR_ILLEGAL_ADDRESS;
  const Result<void> launched = fixture.launch->enqueue(main);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().kind == ErrorKind::execution);
  CHECK_THAT(launched.error().message,
             Catch::Matchers::StartsWith("cannot launch 'gemm_aligned' with 2 x 1 x 1 blocks of 384 threads: "
                                         "CUDA_ERROR (refused); launched since the last synchronisation: "
                                         "'gemm' with M = 200, N = 64, K = 128 on the default stream, 'gemm' "
                                         "with M = 200, N = 64, K = 128 on stream 0x1234;"));
  noted.launched = CUDA_ERROR_INVALID_VALUE; // of this launch alone
  const Result<void> refused = fixture.launch->enqueue(main);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Matchers::EndsWith("threads: CUDA_ERROR (refused)"));
}

TEST_CASE("a launch of another device of the GPU is part of the capture that it joins", "[device][graph]") {
  Fixture fixture;
  LaunchResources other{std::make_shared<const CudaContext>(notingDriver(), 0, 1, 0, nullptr)};
  const auto launch =
      expectValue(CudaLaunch::create(other, *fixture.program, sampleArguments(), sampleDevice()));
  auto logged = [&](const CudaContext &cuda) { return cuda.log.attribute({}).message; };
  const std::unique_ptr<Graph> graph =
      expectValue(fixture.resources.captures.capture(static_cast<CUstream>(main.handle), [&] {
        CHECK(expectValue(other.captures.find(static_cast<CUstream>(main.handle))));
        const auto nested =
            other.captures.capture(static_cast<CUstream>(main.handle), [] { return Result<void>(); });
        CHECK_FALSE(nested);
        return launch->enqueue(main);
      }));
  CHECK(logged(*other.cuda).empty());
  expectSuccess(launch->setAddress(2, address(0x60000000)));
  expectSuccess(graph->launch(main));
  CHECK(noted.movedKernels == std::vector<uintptr_t>{3, 4});
  CHECK(noted.movedOutput == 0x60000000);
  CHECK_THAT(logged(*other.cuda), Catch::Matchers::EndsWith("K = 128 on stream 0x1234"));
  CHECK(logged(*fixture.context).empty());
  CHECK_FALSE(expectValue(other.captures.find(static_cast<CUstream>(main.handle))));
}

TEST_CASE("reports are not read while a graph of programs that report is launched", "[device][graph]") {
  Artifact artifact = sampleArtifact();
  artifact.variants[0].reports = {{ReportSite::Kind::print, "here", "a.cpp:1:2", {}}};
  Fixture fixture(artifact);
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(main.handle), [&] { return fixture.launch->enqueue(main); }));
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
  expectSuccess(graph->launch(main));
  reader.join();
  CHECK(hasFailed);
  CHECK(synchronisations == 1);
}

TEST_CASE("a launch of which the driver reports several nodes is not captured", "[device][graph]") {
  Fixture fixture;
  noted.lastNodes = 2;
  const auto graph = fixture.resources.captures.capture(static_cast<CUstream>(main.handle),
                                                        [&] { return fixture.launch->enqueue(main); });
  REQUIRE_FALSE(graph);
  CHECK(graph.error().message == "the driver reports no single graph node for a launch");
}

TEST_CASE("the driver is not asked for a graph on a captured stream", "[device][graph]") {
  Fixture fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(main.handle), [&] { return fixture.launch->enqueue(main); }));
  noted.captures = true;
  const Result<void> launched = graph->launch(main);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().message ==
        "cannot launch a graph on a captured stream; do it before or after the capture");
  CHECK(noted.graphLaunches == 0);
}

TEST_CASE("reading reports ends the launches of all streams", "[device][log]") {
  Artifact artifact = sampleArtifact();
  artifact.variants[0].reports = {{ReportSite::Kind::print, "here", "a.cpp:1:2", {}}};
  Fixture fixture(artifact);
  expectSuccess(fixture.launch->enqueue(main));
  expectSuccess(fixture.launch->enqueue({}));
  CHECK_FALSE(fixture.context->log.attribute({}).message.empty());
  noted.contextWaited = CUDA_SUCCESS;
  Reports reports;
  expectSuccess(fixture.resources.reporting.take(reports));
  CHECK(fixture.context->log.attribute({}).message.empty());
}
