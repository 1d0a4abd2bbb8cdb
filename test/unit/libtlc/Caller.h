// SPDX-License-Identifier: Apache-2.0
/// \file
/// A caller of the C interface on a device with a driver that only notes what it is asked for.
#pragma once

#include "test/unit/device/AllocationCount.h"
#include "test/unit/device/CudaFixture.h"
#include "test/unit/device/HostRank.h"
#include "tools/libtlc/Calls.h"

#include <catch2/catch.hpp>
#include <vector>

namespace tlc::test {

/// Launches by the noting driver.
class NotingDevice final : public RankDevice {
public:
  explicit NotingDevice(LaunchResources &resources) : RankDevice(0), resources(resources) {}
  Result<void> launch(const LoadedProgram &program, const LaunchArguments &arguments,
                      Stream stream) override {
    return CudaLaunch::launch(resources, static_cast<const CudaProgram &>(program), arguments, sampleDevice(),
                              stream);
  }
  Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &program,
                                                  const LaunchArguments &arguments) override {
    return CudaLaunch::create(resources, static_cast<const CudaProgram &>(program), arguments,
                              sampleDevice());
  }
  Result<void> enqueue(const LaunchArguments &) override { return {}; }
  Result<void> clear(void *, size_t, Stream) override { return {}; }
  Result<bool> isCaptured(Stream) override { return captures; }

  static inline bool captures = false;

private:
  LaunchResources &resources;
};

struct Caller : CudaFixture {
  std::shared_ptr<calls::Loaded> loaded =
      std::make_shared<calls::Loaded>(std::make_shared<NotingDevice>(resources), program);
  tlc_program own{loaded};
  int64_t shapes[3][2] = {{200, 128}, {64, 128}, {200, 64}}, strides[3][2] = {{128, 1}, {128, 1}, {64, 1}};
  std::vector<tlc_tensor> tensors = {{address(0x10000000), TLC_BF16, 2, shapes[0], strides[0]},
                                     {address(0x20000000), TLC_BF16, 2, shapes[1], strides[1]},
                                     {address(0x30000000), TLC_F32, 2, shapes[2], strides[2]}};
  std::vector<tlc_scalar> scalars = {{TLC_F32, 0}};
  std::vector<void *> workspaces = {address(0x40000000)};

  int launch(const tlc_program &by) const {
    return tlc_launch(&by, tensors.data(), int(tensors.size()), scalars.data(), int(scalars.size()),
                      workspaces.data(), int(workspaces.size()), mainStream.handle);
  }
  int launch() const { return launch(own); }
};

} // namespace tlc::test
