// SPDX-License-Identifier: Apache-2.0
/// \file
/// What late errors say of launches.
#include "runtime/device/LaunchLog.h"

#include "test/unit/artifact/SampleArtifact.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::test;

namespace {

const Stream one = {reinterpret_cast<void *>(uintptr_t(0x10))};

LaunchRecord recordOf(std::string program, std::vector<int64_t> values, Stream stream = {}) {
  Artifact artifact{.name = std::move(program), .target = "sm_90a"};
  for (size_t i = 0; i < values.size(); ++i)
    artifact.dimensions.push_back({.name = fmt::format("d{}", i)});
  LaunchPlan plan;
  plan.dimensions = std::move(values);
  return {std::make_shared<const LaunchLabel>(artifact), plan, stream};
}

std::string attributed(const LaunchLog &log) {
  return log.attribute({ErrorKind::execution, "failed"}).message;
}

} // namespace

TEST_CASE("an error names the launches since the last synchronisation", "[device][log]") {
  LaunchLog log;
  CHECK(attributed(log) == "failed");
  log.add(recordOf("gemm", {200, 64}, one));
  CHECK(attributed(log) ==
        "failed; launched since the last synchronisation: 'gemm' with d0 = 200, d1 = 64 on "
        "stream 0x10");
  const LaunchRecord softmax = recordOf("softmax", {});
  for (int i = 0; i < 3; ++i)
    log.add(softmax);
  CHECK(attributed(log) ==
        "failed; launched since the last synchronisation: 'gemm' with d0 = 200, d1 = 64 on stream 0x10, "
        "'softmax' on the default stream (3 times); a device that waits for each launch "
        "(CudaDeviceOptions::waitsForLaunches) says which one fails");
  CHECK(log.attribute({ErrorKind::execution, "failed"}).kind == ErrorKind::execution);
  log.endStream(one);
  CHECK(attributed(log) ==
        "failed; launched since the last synchronisation: 'softmax' on the default stream (3 "
        "times)");
  log.clear();
  CHECK(attributed(log) == "failed");
}

TEST_CASE("an error counts the launches that are too many to name", "[device][log]") {
  LaunchLog log;
  for (size_t i = 0; i < LaunchLog::capacity + 5; ++i)
    log.add(recordOf(fmt::format("k{}", i), {}));
  const std::string message = attributed(log);
  CHECK_THAT(message, Catch::Matchers::Contains("synchronisation: 5 more, 'k5' on the default stream, 'k6'"));
  CHECK_THAT(message, Catch::Matchers::Contains("'k68' on the default stream; a device"));
  log.endStream({});
  log.add(recordOf("last", {}));
  CHECK(attributed(log) == "failed; launched since the last synchronisation: 'last' on the default stream");
}

TEST_CASE("an error has the first dimensions of a program with many", "[device][log]") {
  CHECK(recordOf("k", {1, 2, 3, 4, 5, 6, 7, 8, 9}).text() ==
        "'k' with d0 = 1, d1 = 2, d2 = 3, d3 = 4, d4 = 5, d5 = 6, d6 = 7, d7 = 8, ... on the default stream");
}
