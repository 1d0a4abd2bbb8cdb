// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches that are prepared once and made often.
#include "kernels/harness/DeviceArguments.h"
#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"
#include "test/programs/ProgramRun.h"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

constexpr int64_t rows = 40, columns = 48;

/// Y = X + Z by tiles that the TMA copies, if the tensors are aligned. Y is cleared first.
Artifact sum() {
  return compiled(Program::trace("sum", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global X = k.input("X", f32, {m, n}), Z = k.input("Z", f32, {m, n}), Y = k.output("Y", f32, {m, n});
    Index i = k.grid(ceilDiv(m, 16))[0];
    Fragment acc = k.fragment(f32, {16, 32});
    k.loop(ceilDiv(n, 32), [&](Index j) {
      Shared x = k.shared("x", f32, {16, 32});
      copy(X.tile({i * 16, j * 32}, {16, 32}), x);
      copy(Z.tile({i * 16, j * 32}, {16, 32}), acc);
      Fragment part = k.fragment(f32, {16, 32});
      copy(x, part);
      copy(part + acc, Y.tile({i * 16, j * 32}, {16, 32}));
    });
  }));
}

/// `rows` x `columns` numbers of a device.
struct Numbers {
  kernels::DeviceMemory memory;
  Device &device;
  std::ptrdiff_t first; ///< of the elements in the memory

  Numbers(Device &device, float from, std::ptrdiff_t first = 0)
      : memory(expectValue(
            kernels::DeviceMemory::allocate(device, size_t(rows * columns + first) * sizeof(float)))),
        device(device), first(first) {
    std::vector<float> values(size_t(rows * columns));
    std::iota(values.begin(), values.end(), from);
    expectSuccess(device.copyToDevice(address(), values.data(), values.size() * sizeof(float)));
  }
  void *address() const { return static_cast<float *>(memory.address()) + first; }
  std::vector<float> values() const {
    std::vector<float> values(size_t(rows * columns));
    expectSuccess(device.copyToHost(values.data(), address(), values.size() * sizeof(float)));
    return values;
  }
};

/// What Y has to be where X begins with `x` and Z with `z`.
std::vector<float> sumOf(float x, float z) {
  std::vector<float> values(size_t(rows * columns));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = x + z + 2 * float(i);
  return values;
}

} // namespace

TEST_CASE("a prepared launch runs again, also at other addresses", "[prepared]") {
  const Artifact artifact = sum();
  std::unique_ptr<Device> device = openDevice(artifact.target, 3);
  auto program = expectValue(device->load(artifact));
  Numbers x(*device, 0), otherX(*device, 1000), crookedX(*device, 5000, 1), z(*device, 7), y(*device, 0),
      otherY(*device, 0);
  auto view = [&](const Numbers &numbers) { return contiguousView(numbers.address(), f32, {rows, columns}); };
  auto launch = expectValue(device->prepare(*program, {.tensors = {view(x), view(z), view(y)}}));
  auto runOnce = [&] {
    expectSuccess(launch->enqueue());
    expectSuccess(device->synchronize());
  };
  runOnce();
  CHECK(y.values() == sumOf(0, 7));

  expectSuccess(launch->setAddress(0, otherX.address()));
  expectSuccess(launch->setAddress(2, otherY.address()));
  runOnce();
  CHECK(otherY.values() == sumOf(1000, 7));
  CHECK(y.values() == sumOf(0, 7));

  expectSuccess(launch->setAddress(0, crookedX.address())); // which the TMA does not take
  runOnce();
  CHECK(otherY.values() == sumOf(5000, 7));

  CHECK_FALSE(launch->setAddress(3, x.address()));
  CHECK_FALSE(launch->setAddress(0, nullptr));
  std::vector<float> host(size_t(rows * columns));
  CHECK_FALSE(launch->setAddress(0, host.data()));
  expectSuccess(launch->setAddress(2, y.address()));
  runOnce();
  CHECK(y.values() == sumOf(5000, 7));

  const std::array<void *, 3> traded = {z.address(), x.address(), otherY.address()};
  expectSuccess(launch->setAddresses(0, traded));
  runOnce();
  CHECK(otherY.values() == sumOf(0, 7));
  const std::array<void *, 2> wrong = {x.address(), nullptr};
  CHECK_FALSE(launch->setAddresses(0, wrong));
  CHECK_FALSE(launch->setAddresses(2, wrong));
  runOnce();
  CHECK(otherY.values() == sumOf(0, 7));
}
