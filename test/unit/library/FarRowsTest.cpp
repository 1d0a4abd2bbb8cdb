// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors whose last row is more than 2^31 elements from the first one. The emulator's memory takes pages
/// that are accessed alone.
#include "kernels/harness/DeviceArguments.h"
#include "kernels/harness/ElementBits.h"
#include "kernels/library/Attention.h"
#include "kernels/library/Gemm.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace tlc;
using namespace tlc::kernels;

namespace {

constexpr int64_t stride = int64_t(1) << 24, rows = 130, depth = 64;
static_assert((rows - 1) * stride > int64_t(1) << 31);

template <class T> T require(Result<T> result) {
  INFO((result ? std::string() : result.error().message));
  REQUIRE(bool(result));
  return std::move(*result);
}
void require(const Result<void> &done) {
  INFO((done ? std::string() : done.error().message));
  REQUIRE(bool(done));
}

/// Rows of bf16 of one allocation, `stride` elements apart; tensors lie in neighbouring columns.
class FarRows {
public:
  explicit FarRows(Device &device)
      : device(device), address(static_cast<std::byte *>(
                            require(device.allocate(size_t(rows * stride * sizeInBytes(type)))))) {}
  ~FarRows() { (void)device.free(address); }
  FarRows(const FarRows &) = delete;

  TensorView view(int64_t column, std::vector<int64_t> shape, std::vector<int64_t> strides) const {
    return {at(0, column), type, std::move(shape), std::move(strides)};
  }
  void write(int64_t column, const std::vector<double> &values) const {
    const auto columns = int64_t(values.size()) / rows;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<uint16_t> bits;
      for (int64_t j = 0; j < columns; ++j)
        bits.push_back(uint16_t(encodeElement(type, values[size_t(row * columns + j)])));
      require(device.copyToDevice(at(row, column), bits.data(), bits.size() * sizeof(uint16_t)));
    }
  }
  std::vector<double> read(int64_t column, int64_t columns) const {
    std::vector<double> values;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<uint16_t> bits(static_cast<size_t>(columns));
      require(device.copyToHost(bits.data(), at(row, column), bits.size() * sizeof(uint16_t)));
      for (uint16_t each : bits)
        values.push_back(decodeElement(type, each));
    }
    return values;
  }

private:
  static constexpr ElementType type = ElementType::bf16;
  std::byte *at(int64_t row, int64_t column) const {
    return address + (row * stride + column) * sizeInBytes(type);
  }

  Device &device;
  std::byte *address;
};

std::vector<double> numbers(int64_t columns, int64_t seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows * columns; ++i)
    values.push_back(double((i * 7 + i / 5 * 3 + seed) % 3 - 1));
  return values;
}

struct Fixture {
  explicit Fixture(const char *target)
      : device(createEmulatorDevice(
            {.target = findTarget(target), .multiprocessors = 3, .raceCheck = RaceCheck::strict})),
        far(*device) {}

  std::unique_ptr<Device> device;
  ArtifactCache artifacts;
  Programs programs{*device, artifacts};
  FarRows far;
};

} // namespace

TEST_CASE("a product of matrices whose rows are far apart", "[calls]") {
  for (const char *target : {"sm_90a", "sm_100a"}) {
    INFO(target);
    Fixture f(target);
    const std::vector<double> a = numbers(depth, 0), b = numbers(depth, 1);
    f.far.write(0, a);
    f.far.write(depth, b);
    const gemm::GemmTensors tensors{.a = f.far.view(0, {rows, depth}, {stride, 1}),
                                    .b = f.far.view(depth, {rows, depth}, {stride, 1}),
                                    .c = f.far.view(2 * depth, {rows, rows}, {stride, 1})};
    const size_t bytes = require(gemm::workspaceSize(f.programs, tensors));
    DeviceMemory memory = require(DeviceMemory::allocate(*f.device, bytes));
    require(gemm::multiply(f.programs, {}, tensors, {memory.address(), bytes}));
    require(f.device->synchronize());
    const std::vector<double> c = f.far.read(2 * depth, rows);
    int64_t wrong = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < rows; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < depth; ++l)
          sum += a[size_t(i * depth + l)] * b[size_t(j * depth + l)];
        wrong += c[size_t(i * rows + j)] != sum;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("attention to keys that are far apart", "[calls]") {
  for (const char *target : {"sm_90a", "sm_100a"}) {
    INFO(target);
    Fixture f(target);
    const std::vector<double> q = numbers(depth, 0), k = numbers(depth, 1), v = numbers(depth, 2);
    f.far.write(0, q);
    f.far.write(depth, k);
    f.far.write(2 * depth, v);
    auto view = [&](int64_t number) {
      return f.far.view(number * depth, {1, rows, 1, depth}, {rows * stride, stride, depth, 1});
    };
    DeviceMemory lse = require(DeviceMemory::allocate(*f.device, rows * sizeof(float)));
    const attention::ForwardTensors tensors{
        .q = view(0),
        .k = view(1),
        .v = view(2),
        .o = view(3),
        .lse = contiguousView(lse.address(), ElementType::f32, {1, 1, rows})};
    const size_t bytes = require(attention::workspaceSize(f.programs, tensors));
    DeviceMemory memory = require(DeviceMemory::allocate(*f.device, bytes));
    require(attention::forward(f.programs, {}, tensors, {memory.address(), bytes}));
    require(f.device->synchronize());
    const std::vector<double> o = f.far.read(3 * depth, depth);
    double worst = 0;
    for (int64_t i = 0; i < rows; ++i) {
      double total = 0;
      std::vector<double> sums(depth);
      for (int64_t j = 0; j < rows; ++j) {
        double score = 0;
        for (int64_t l = 0; l < depth; ++l)
          score += q[size_t(i * depth + l)] * k[size_t(j * depth + l)];
        const double weight = std::exp(score / std::sqrt(double(depth)));
        total += weight;
        for (int64_t l = 0; l < depth; ++l)
          sums[size_t(l)] += weight * v[size_t(j * depth + l)];
      }
      for (int64_t l = 0; l < depth; ++l)
        worst = std::max(worst, std::abs(o[size_t(i * depth + l)] - sums[size_t(l)] / total));
    }
    CHECK(worst < 0.01);
  }
}
