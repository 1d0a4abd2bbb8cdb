// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches with all checks on a GPU, with a driver that only notes what it is asked for.
#include "test/Expect.h"
#include "test/unit/device/AllocationCount.h"
#include "test/unit/device/CudaFixture.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {

struct Launcher : CudaFixture {
  using CudaFixture::CudaFixture;
  Result<void> launch(const LaunchArguments &arguments) {
    return CudaLaunch::launch(resources, *program, arguments, sampleDevice(), mainStream);
  }
  /// What a program says that has launched nothing.
  std::string firstError(const LaunchArguments &arguments) const {
    Result<std::shared_ptr<const CudaProgram>> fresh = CudaProgram::load(context, program->artifact());
    REQUIRE(fresh);
    LaunchResources own(context);
    const Result<void> launched = CudaLaunch::launch(own, **fresh, arguments, sampleDevice(), mainStream);
    REQUIRE_FALSE(launched);
    return launched.error().message;
  }
};

LaunchArguments movedArguments(size_t tensor, uintptr_t to) {
  LaunchArguments arguments = sampleArguments();
  arguments.tensors[tensor].data = address(to);
  return arguments;
}

} // namespace

TEST_CASE("a launch with the shapes of an earlier one checks memory alone, and allocates nothing",
          "[device][launch]") {
  Launcher fixture;
  const LaunchArguments arguments = sampleArguments();
  expectSuccess(fixture.launch(arguments));
  noted = {};
  bool succeeded = true;
  {
    AllocationCount count;
    for (int i = 0; i < 3; ++i)
      succeeded = succeeded && bool(fixture.launch(arguments));
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.launches == 6);       // of two kernels
  CHECK(noted.clears == 6);         // C and the workspace
  CHECK(noted.pointerChecks == 12); // one for each tensor
  CHECK(noted.contexts == 3);
  CHECK(noted.encodedMaps == 0);
  CHECK(noted.output == 0x30000000);
}

TEST_CASE("a launch at other addresses changes the maps of the tensors that moved", "[device][launch]") {
  Launcher fixture;
  expectSuccess(fixture.launch(sampleArguments()));
  noted = {};
  LaunchArguments other = movedArguments(0, 0x50000000);
  other.tensors[2].data = address(0x60000000);
  bool succeeded = true;
  {
    AllocationCount count;
    succeeded = bool(fixture.launch(other));
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.encodedMaps == 0);
  CHECK(noted.replacedMaps == 1);
  CHECK(noted.pointerChecks == 4);
  CHECK(noted.mapAddress == 0x50000000);
  CHECK(noted.output == 0x60000000);
  expectSuccess(fixture.launch(movedArguments(0, 0x50000002))); // by the variant for any alignment
  CHECK(noted.launches == 3);
}

TEST_CASE("launches of other shapes, scalars or devices are their own", "[device][launch]") {
  Launcher fixture;
  const LaunchArguments arguments = sampleArguments(), fewerRows = sampleArguments(72);
  LaunchArguments otherScalar = sampleArguments();
  otherScalar.scalars[0].bits = 0;
  expectSuccess(fixture.launch(arguments));
  noted = {};
  expectSuccess(fixture.launch(fewerRows));
  CHECK(noted.encodedMaps == 2);
  expectSuccess(fixture.launch(otherScalar));
  CHECK(noted.encodedMaps == 4);
  for (const LaunchArguments &again : {arguments, fewerRows, otherScalar})
    expectSuccess(fixture.launch(again));
  CHECK(noted.encodedMaps == 4);
  LaunchResources otherDevice(std::make_shared<const CudaContext>(notingDriver(), 0, 1, 0, nullptr));
  expectSuccess(CudaLaunch::launch(otherDevice, *fixture.program, arguments, sampleDevice(), mainStream));
  CHECK(noted.encodedMaps == 6);
}

TEST_CASE("errors of a launch are those of a first one", "[device][launch]") {
  Launcher fixture;
  expectSuccess(fixture.launch(sampleArguments()));
  noted.hostMemory = 0x70000000;
  const std::vector<LaunchArguments> wrong = {movedArguments(0, 0),          movedArguments(0, 0x50000001),
                                              movedArguments(3, 0x50000010), movedArguments(3, 0x10000000),
                                              movedArguments(1, 0x40000000), movedArguments(2, 0x70000000)};
  for (const LaunchArguments &arguments : wrong) {
    const size_t launches = noted.launches;
    const Result<void> launched = fixture.launch(arguments);
    REQUIRE_FALSE(launched);
    CHECK(launched.error().message == fixture.firstError(arguments));
    CHECK(noted.launches == launches);
    expectSuccess(fixture.launch(sampleArguments()));
  }
}

TEST_CASE("memory that is the host's by now is refused at the address of an earlier launch",
          "[device][launch]") {
  Launcher fixture;
  expectSuccess(fixture.launch(sampleArguments()));
  noted.hostMemory = 0x20000000;
  const Result<void> launched = fixture.launch(sampleArguments());
  REQUIRE_FALSE(launched);
  CHECK(launched.error().message ==
        "argument 'B': expected memory of GPU 0, but 0x20000000 is an address of the host");
}

TEST_CASE("all tensors of a launch may move at once", "[device][launch]") {
  Launcher fixture;
  LaunchArguments exchanged = sampleArguments();
  std::swap(exchanged.tensors[0].data, exchanged.tensors[3].data); // with the workspace
  expectSuccess(fixture.launch(sampleArguments()));
  noted = {};
  expectSuccess(fixture.launch(exchanged));
  CHECK(noted.encodedMaps == 0);
  CHECK(noted.mapAddress == reinterpret_cast<uintptr_t>(exchanged.tensors[0].data));
}

TEST_CASE("a launch that is kept does not move in the graph that captured it", "[device][graph]") {
  Launcher fixture;
  const std::unique_ptr<Graph> graph = expectValue(fixture.resources.captures.capture(
      static_cast<CUstream>(mainStream.handle), [&] { return fixture.launch(sampleArguments()); }));
  expectSuccess(fixture.launch(movedArguments(2, 0x60000000)));
  expectSuccess(graph->launch(mainStream));
  CHECK(noted.graphLaunches == 1);
  CHECK(noted.movedKernels.empty());
}
