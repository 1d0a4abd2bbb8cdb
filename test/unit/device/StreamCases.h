// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tests of streams, which run on both devices, launch and compare.
#pragma once

#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"
#include "test/unit/device/CudaKernels.h"

#include <bit>
#include <memory>
#include <string>
#include <vector>

namespace tlc::test {

/// The device that these tests run on, defined where they are linked.
std::unique_ptr<Device> openStreamDevice();

/// y = a x on [M, N] with any row strides; y is cleared first.
inline Artifact scaleArtifact() {
  using Kind = KernelParameter::Kind;
  return {.name = "scale",
          .target = "sm_90a",
          .dimensions = {{.name = "M"}, {.name = "N"}},
          .tensors = {{.name = "x", .shape = {{.dimension = 0}, {.dimension = 1}}},
                      {.name = "y",
                       .access = Access::output,
                       .shape = {{.dimension = 0}, {.dimension = 1}},
                       .zeroFill = true}},
          .scalars = {{.name = "a"}},
          .variants = {
              {.name = "general",
               .launches = {{.entry = "scale",
                             .grid = {HostExpr::dimension(0), HostExpr::constant(1), HostExpr::constant(1)},
                             .threads = 128,
                             .parameters = {{.kind = Kind::tensorPointer, .index = 0},
                                            {.kind = Kind::tensorStride, .index = 0, .axis = 0},
                                            {.kind = Kind::tensorPointer, .index = 1},
                                            {.kind = Kind::tensorStride, .index = 1, .axis = 0},
                                            {.kind = Kind::dimension, .index = 1},
                                            {.kind = Kind::scalar, .index = 0}}}},
               .ptx = std::string(scalePtx)}}};
}

inline ScalarValue scalarOf(float value) {
  return {.element = ElementType::f32, .bits = std::bit_cast<uint32_t>(value)};
}

/// A device with the program and `buffers` of 4 x 16 floats, of which number i has i + 1 in all elements.
struct ScaleOnStreams {
  static constexpr int64_t rows = 4, columns = 16;
  static constexpr size_t elements = rows * columns, bytes = elements * sizeof(float);

  explicit ScaleOnStreams(size_t buffers)
      : device(openStreamDevice()), program(expectValue(device->load(scaleArtifact()))),
        stream(expectValue(device->createStream())) {
    for (size_t i = 0; i < buffers; ++i) {
      memory.push_back(expectValue(device->allocate(bytes)));
      const std::vector<float> values(elements, float(i + 1));
      expectSuccess(device->copyToDevice(memory[i], values.data(), bytes));
    }
  }
  ScaleOnStreams(const ScaleOnStreams &) = delete;
  ~ScaleOnStreams() {
    stream.reset();
    for (void *address : memory)
      expectSuccess(device->free(address));
  }

  TensorView view(void *address) const { return contiguousView(address, ElementType::f32, {rows, columns}); }
  /// to = factor from.
  LaunchArguments scale(size_t from, size_t to, float factor) const {
    return {.tensors = {view(memory[from]), view(memory[to])}, .scalars = {scalarOf(factor)}};
  }
  std::vector<float> read(const void *address) const {
    std::vector<float> values(elements);
    expectSuccess(device->copyToHost(values.data(), address, bytes));
    return values;
  }
  static std::vector<float> all(float value) { return std::vector<float>(elements, value); }

  std::unique_ptr<Device> device;
  std::shared_ptr<const LoadedProgram> program;
  std::unique_ptr<OwnedStream> stream;
  std::vector<void *> memory;
};

} // namespace tlc::test
