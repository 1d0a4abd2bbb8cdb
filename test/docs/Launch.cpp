// SPDX-License-Identifier: Apache-2.0
/// \file
/// From C++ to a device and back, with nothing but the library's interface.
// [launch]
#include "kernels/library/Compile.h"

using namespace tlc;

/// y := a x + y on the GPU if there is one, else on the emulator.
Result<void> addScaled(float a, const std::vector<float> &x, std::vector<float> &y) {
  Result<Artifact> artifact = compile(dsl::Program::trace("add_scaled", [](dsl::Scope &k) {
    dsl::Index n = k.dim("n");
    dsl::Scalar factor = k.scalar("a", dsl::f32);
    dsl::Global X = k.input("X", dsl::f32, {n}), Y = k.inout("Y", dsl::f32, {n});
    auto [block] = k.grid(ceilDiv(n, 1024));
    dsl::Fragment tileX = k.fragment(dsl::f32, {1024}), tileY = k.fragment(dsl::f32, {1024});
    copy(X.tile({block * 1024}, {1024}), tileX);
    copy(Y.tile({block * 1024}, {1024}), tileY);
    copy(factor * tileX + tileY, Y.tile({block * 1024}, {1024}));
  }));
  if (!artifact)
    return artifact.error();

  Result<std::unique_ptr<Device>> gpu = createCudaDevice(/*ordinal=*/0);
  std::unique_ptr<Device> device = gpu ? std::move(*gpu) : createEmulatorDevice();
  Result<std::shared_ptr<const LoadedProgram>> program = device->load(std::move(*artifact));
  if (!program)
    return program.error();

  size_t bytes = x.size() * sizeof(float);
  Result<void *> memory = device->allocate(2 * bytes);
  if (!memory)
    return memory.error();
  float *deviceX = static_cast<float *>(*memory), *deviceY = deviceX + x.size();
  auto extent = static_cast<int64_t>(x.size());
  LaunchArguments arguments;
  arguments.tensors = {{deviceX, ElementType::f32, {extent}, {1}},
                       {deviceY, ElementType::f32, {extent}, {1}}};
  arguments.scalars = {{ElementType::f32, std::bit_cast<uint32_t>(a)}};

  auto run = [&]() -> Result<void> {
    if (Result<void> copied = device->copyToDevice(deviceX, x.data(), bytes); !copied)
      return copied;
    if (Result<void> copied = device->copyToDevice(deviceY, y.data(), bytes); !copied)
      return copied;
    if (Result<void> launched = device->launch(**program, arguments); !launched)
      return launched;
    return device->copyToHost(y.data(), deviceY, bytes);
  };
  Result<void> done = run();
  Result<void> freed = device->free(*memory);
  return done ? freed : done;
}
// [launch]

#include <catch2/catch.hpp>

TEST_CASE("compiled and launched from C++", "[docs]") {
  std::vector<float> x(1500), y(1500);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(i % 7) - 3;
    y[i] = float(i % 5);
  }
  std::vector<float> before = y;
  Result<void> done = addScaled(0.5f, x, y);
  INFO((done ? "" : done.error().message));
  REQUIRE(bool(done));
  for (size_t i = 0; i < x.size(); ++i)
    CHECK(y[i] == 0.5f * x[i] + before[i]);
}
