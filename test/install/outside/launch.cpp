// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs a program that was compiled elsewhere; nothing of the compiler is in this process. launch FILE
#include <bit>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <tlc/runtime/artifact/Serialize.h>
#include <tlc/runtime/emulator/EmulatorDevice.h>
#include <utility>
#include <vector>

/// y := 3 x + y on the emulator, for numbers that f32 holds. Says "right", or what is wrong.
static int runScaledAdd(tlc::Artifact artifact) {
  const auto fail = [](const tlc::Error &error) {
    std::printf("%s\n", error.message.c_str());
    return 1;
  };
  std::vector<float> x(1000), y(1000);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(i);
    y[i] = float(2 * i + 1);
  }
  std::unique_ptr<tlc::Device> device = tlc::createEmulatorDevice();
  auto program = device->load(std::move(artifact));
  if (!program)
    return fail(program.error());
  tlc::LaunchArguments arguments;
  for (std::vector<float> *host : {&x, &y}) {
    auto memory = device->allocate(host->size() * sizeof(float));
    if (!memory)
      return fail(memory.error());
    if (auto copied = device->copyToDevice(*memory, host->data(), host->size() * sizeof(float)); !copied)
      return fail(copied.error());
    arguments.tensors.push_back({*memory, tlc::ElementType::f32, {int64_t(host->size())}, {1}});
  }
  arguments.scalars = {{tlc::ElementType::f32, std::bit_cast<uint32_t>(3.0f)}};
  if (auto launched = device->launch(**program, arguments); !launched)
    return fail(launched.error());
  if (auto copied = device->copyToHost(y.data(), arguments.tensors[1].data, y.size() * sizeof(float));
      !copied)
    return fail(copied.error());
  for (size_t i = 0; i < y.size(); ++i)
    if (y[i] != float(5 * i + 1)) {
      std::printf("y[%zu] = %f\n", i, double(y[i]));
      return 1;
    }
  // What the device refuses comes as a Result, too.
  arguments.tensors.pop_back();
  if (auto launched = device->launch(**program, arguments); launched || launched.error().message.empty()) {
    std::printf("a launch without y is not refused\n");
    return 1;
  }
  std::printf("right\n");
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  tlc::Result<tlc::Artifact> artifact = tlc::deserialize(std::as_bytes(std::span(text)));
  if (!artifact) {
    std::printf("%s\n", artifact.error().message.c_str());
    return 1;
  }
  return runScaledAdd(std::move(*artifact));
}
