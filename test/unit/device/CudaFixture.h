// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program that is loaded by a driver without a GPU.
#pragma once

#include "runtime/cuda/CudaLaunch.h"
#include "test/unit/device/NotingDriver.h"
#include "test/unit/device/SampleArguments.h"

#include <catch2/catch.hpp>

namespace tlc::test {

/// The sample program on that driver, and a prepared launch of it.
struct CudaFixture {
  std::shared_ptr<const CudaContext> context =
      std::make_shared<const CudaContext>(notingDriver(), 0, 1, 0, nullptr);
  LaunchResources resources{context};
  std::shared_ptr<const CudaProgram> program;
  std::unique_ptr<PreparedLaunch> launch;

  explicit CudaFixture(Artifact artifact = sampleArtifact(), bool waitsForLaunches = false) {
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

inline const Stream mainStream = {reinterpret_cast<void *>(uintptr_t(0x1234))};

} // namespace tlc::test
