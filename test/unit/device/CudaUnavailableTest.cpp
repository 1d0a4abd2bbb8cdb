// SPDX-License-Identifier: Apache-2.0
/// \file
/// Without a usable GPU creating the device says what is missing.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaPeers.h"
#include "runtime/cuda/NcclCommunicator.h"

#include <catch2/catch.hpp>

using namespace tlc;

TEST_CASE("an ordinal that no machine has is an environment error", "[device][cuda]") {
  Result<std::unique_ptr<Device>> device = createCudaDevice(4096);
  REQUIRE_FALSE(device);
  CHECK(device.error().kind == ErrorKind::environment);
  INFO(device.error().message);
  bool known = false;
  for (const char *reason : {"built without CUDA headers", "cannot open libcuda.so.1",
                             "expected a GPU with ordinal", "the CUDA driver does not start"})
    known |= device.error().message.find(reason) != std::string::npos;
  CHECK(known);
}

TEST_CASE("memory of other processes and flags need a GPU, too", "[device][cuda]") {
  CHECK(exportMemory(4096, nullptr).error().kind == ErrorKind::environment);
  CHECK(importMemory(4096, {}).error().kind == ErrorKind::environment);
  CHECK(closeMemory(4096, {}, nullptr).error().kind == ErrorKind::environment);
  CHECK(createCudaFlags(4096).error().kind == ErrorKind::environment);
  CHECK(busIdOf(4096).error().kind == ErrorKind::environment);
  CHECK(checkReach(4096, "0000:01:00.0").error().kind == ErrorKind::environment);
  CHECK(createFlagMemory(4096).error().kind == ErrorKind::environment);
  CHECK(createCommunicator({}, 4096, 0, 1, {}).error().kind == ErrorKind::environment);
}
