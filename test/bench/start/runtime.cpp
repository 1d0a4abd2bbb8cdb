// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program of the runtime alone, without a compiler: `start_runtime gpu|emulator ARTIFACT` loads the
/// artifact, and launches it once.
#include "runtime/artifact/Serialize.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/bench/start/Child.h"

#include <filesystem>
#include <fstream>
#include <string>

using namespace tlc;

template <class T> static T require(Result<T> result) {
  start_require(bool(result), result ? "" : result.error().message.c_str());
  return std::move(*result);
}
static void require(const Result<void> &result) {
  start_require(bool(result), result ? "" : result.error().message.c_str());
}

int main(int count, char **arguments) {
  start_tell();
  start_require(count == 3, "expected a device and an artifact");
  const std::unique_ptr<Device> device =
      std::string(arguments[1]) == "gpu" ? require(createCudaDevice(0)) : createEmulatorDevice();
  start_tell();

  std::string bytes(std::filesystem::file_size(arguments[2]), '\0');
  std::ifstream(arguments[2], std::ios::binary).read(bytes.data(), std::streamsize(bytes.size()));
  const auto program = require(device->load(require(deserialize(std::as_bytes(std::span(bytes))))));
  start_tell();

  const float zeros[start_rows * start_columns] = {};
  LaunchArguments launch;
  for (int i = 0; i != 2; ++i) {
    void *address = require(device->allocate(start_tensor_bytes));
    require(device->copyToDevice(address, zeros, start_tensor_bytes));
    launch.tensors.push_back(contiguousView(address, ElementType::f32, {start_rows, start_columns}));
  }
  require(device->launch(*program, launch));
  require(device->synchronize());
  start_tell();
}
