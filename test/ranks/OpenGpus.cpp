// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks on the GPUs of this machine, as many as reach each other's memory.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/LaunchRanks.h"
#include "runtime/target/Hardware.h"
#include "test/Expect.h"
#include "test/ranks/RankRun.h"

#include <catch2/catch.hpp>

std::vector<std::unique_ptr<tlc::Device>> tlc::test::openRanks(size_t count, const RankOptions &) {
  std::vector<std::unique_ptr<Device>> devices;
  for (size_t ordinal = 0; ordinal < count; ++ordinal)
    devices.push_back(expectValue(createCudaDevice(int(ordinal))));
  return devices;
}

int64_t tlc::test::mostRanks() {
  static const int64_t most = [] {
    std::vector<std::unique_ptr<Device>> devices;
    std::vector<Device *> pointers;
    while (int64_t(devices.size()) < maxRanks) {
      Result<std::unique_ptr<Device>> next = createCudaDevice(int(devices.size()));
      if (!next)
        break;
      pointers.push_back(next->get());
      devices.push_back(std::move(*next));
      if (!connect(pointers))
        return int64_t(devices.size()) - 1;
    }
    return int64_t(devices.size());
  }();
  return most;
}
