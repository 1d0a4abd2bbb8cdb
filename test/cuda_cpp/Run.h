// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs CUDA C++ kernels on the emulator, and on a GPU where there is one, each
/// as it is translated for speed and for a debugger.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/emulator/check/RaceCheck.h"
#include "test/cuda_cpp/Translate.h"

#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace tlc::test {

/// An array of the device that the kernel reads and writes, given as its bytes.
using Bytes = std::vector<std::byte>;
template <class T> Bytes bytesOf(const std::vector<T> &values) {
  const auto span = std::as_bytes(std::span(values));
  return {span.begin(), span.end()};
}
template <class T> std::vector<T> valuesOf(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Integers from `least` to `most`, the same in each run of the test.
template <class T> std::vector<T> randomValues(size_t count, T least, T most, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = T(uint64_t(least) + random() % (uint64_t(most) - uint64_t(least) + 1));
  return values;
}

/// Of a two-dimensional array among the arguments; passed as a `__grid_constant__` tensor map.
struct Box {
  int64_t array = 0;
  ElementType element = ElementType::f32;
  int64_t rows = 0, columns = 0;
  int64_t boxRows = 0, boxColumns = 0;
  Swizzle swizzle = Swizzle::none;
};

/// extern "C" __global__ void k(arrays..., ints..., tensor map)
struct CudaKernel {
  std::vector<std::string_view> headers = {}; ///< of the toolkit
  std::string_view source;
  unsigned blocks = 1;
  unsigned threads = 128;
  unsigned cluster = 1;
  unsigned sharedBytes = 0;
  std::vector<Bytes> arrays = {};
  std::vector<int32_t> integers = {};
  std::vector<Box> boxes = {};
  RaceCheck raceCheck = RaceCheck::strict;
  std::string *printed = nullptr; ///< gets what the kernel prints on the emulator
};

/// What one translation left on one device.
struct Run {
  std::string how;
  std::vector<Bytes> arrays = {};
  std::string printed = {}; ///< on the emulator
};
/// All of them: of kernels whose results depend on the order of their threads.
/// Fails the test where something goes wrong.
std::vector<Run> runEach(const CudaKernel &kernel);
/// The arrays of the first, which all must have in common, within `tolerance`
/// of f32 values where that is given.
std::vector<Bytes> run(const CudaKernel &kernel, double tolerance = 0);

/// What to run on besides the emulator; empty: nothing.
std::string gpuName();

} // namespace tlc::test
