// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels, memory and launches for tests of several emulated devices.
#pragma once

#include "runtime/emulator/EmulatorDevice.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace tlc::emulator::test {

/// A kernel of one block of 32 threads that is given two arrays of words:
/// %mine and %theirs. %t is the thread, %first holds in thread 0. Lines of the
/// body are named by `.loc 1 LINE 3`.
inline Artifact kernel(std::string_view body, int64_t blocks = 1, uint32_t sharedBytes = 0,
                       std::string_view name = "k") {
  Artifact artifact;
  artifact.name = "kernel";
  artifact.target = "sm_90a";
  artifact.dimensions.push_back({.name = "n"});
  TensorArgument mine;
  mine.name = "mine";
  mine.access = Access::inout;
  mine.shape = {{.dimension = 0}};
  TensorArgument theirs = mine;
  theirs.name = "theirs";
  artifact.tensors = {mine, theirs};
  Launch launch;
  launch.entry = name;
  launch.grid = {HostExpr::constant(blocks), HostExpr::constant(1), HostExpr::constant(1)};
  launch.threads = 32;
  launch.sharedBytes = sharedBytes;
  launch.parameters = {{KernelParameter::Kind::tensorPointer, 0, 0},
                       {KernelParameter::Kind::tensorPointer, 1, 0}};
  Variant variant;
  variant.name = "general";
  variant.launches = {launch};
  variant.ptx = fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.file 1 "kernel.cpp"
.visible .entry {}(.param .u64 mine, .param .u64 theirs) {{
  .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<8>;
  .reg .b64 %mine, %theirs; .reg .b32 %t; .reg .pred %first;
  ld.param.u64 %mine, [mine]; ld.param.u64 %theirs, [theirs];
  mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0;
{}
  ret;
}})",
                            name, body);
  artifact.variants = {variant};
  return artifact;
}

/// Device memory of 32-bit words.
struct Words {
  Words(Device &device, std::vector<uint32_t> values) : device(device), values(std::move(values)) {
    auto memory = device.allocate(bytes());
    REQUIRE(memory);
    address = *memory;
    REQUIRE(device.copyToDevice(address, this->values.data(), bytes()));
  }
  size_t bytes() const { return values.size() * 4; }
  TensorView view() const { return {address, ElementType::f32, {int64_t(values.size())}, {1}}; }
  std::vector<uint32_t> read() {
    auto copied = device.copyToHost(values.data(), address, bytes());
    INFO((copied ? "" : copied.error().message));
    REQUIRE(copied);
    return values;
  }

  Device &device;
  std::vector<uint32_t> values;
  void *address = nullptr;
};

inline Result<void> launch(Device &device, const Artifact &artifact, const Words &mine, const Words &theirs,
                           Stream stream = {}) {
  auto program = device.load(artifact);
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  LaunchArguments arguments;
  arguments.tensors = {mine.view(), theirs.view()};
  return device.launch(**program, arguments, stream);
}

inline std::string errorOf(const Result<void> &result) { return result ? "" : result.error().message; }

} // namespace tlc::emulator::test
