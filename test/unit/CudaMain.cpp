// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program of tests that need a GPU of sm_90. Without one it says so and counts as skipped.
#define CATCH_CONFIG_RUNNER
#include "runtime/cuda/CudaDevice.h"

#include <catch2/catch.hpp>
#include <cstdio>

using namespace tlc;

int main(int argc, char **argv) {
  constexpr int skipped = 77; // the exit status that ctest reports as skipped
  Result<std::unique_ptr<Device>> device = createCudaDevice(0);
  if (!device || (*device)->properties().target != "sm_90a") {
    std::printf("skipped: these tests need a GPU of sm_90: %s\n",
                device ? (*device)->properties().name.c_str() : device.error().message.c_str());
    return skipped;
  }
  device->reset();
  return Catch::Session().run(argc, argv);
}
