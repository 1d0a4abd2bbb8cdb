// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels that CUTLASS made, with its own code on the host: every element of what they
/// compute on the emulator, under several orders of what happens.
#include "runtime/emulator/math/Float.h"
#include "test/cutlass/CudaRuntime.h"
#include "test/cutlass/Gemm.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace tlc::test;
using tlc::emulator::FloatFormat;

extern const Gemm bf16Pingpong, bf16StreamK, e4m3Cooperative, e4m3Pingpong, halfCooperative, halfCpAsync,
    halfWarpSpecialized;

namespace {

FloatFormat formatOf(Element element) {
  switch (element) {
  case Element::f16:
    return FloatFormat::f16;
  case Element::bf16:
    return FloatFormat::bf16;
  case Element::e4m3:
    return FloatFormat::e4m3;
  case Element::f32:
    break;
  }
  return FloatFormat::f32;
}

unsigned bytesOf(Element element) { return element == Element::f32 ? 4 : element == Element::e4m3 ? 1 : 2; }

/// The same matrix of each batch, its values as they read.
struct Matrix {
  Matrix(const char *name, Element element, bool byRows, int rows, int columns, int batches)
      : name(name), format(formatOf(element)), elementBytes(bytesOf(element)), byRows(byRows), rows(rows),
        columns(columns), values(size_t(rows) * columns * batches) {}

  double &at(int batch, int row, int column) {
    const size_t inMatrix = byRows ? size_t(row) * columns + column : size_t(column) * rows + row;
    return values[size_t(batch) * rows * columns + inMatrix];
  }
  /// Quarters, so that all formats hold them and all sums are exact whatever their order. The device gets
  /// them, too.
  void draw(std::mt19937 &random) {
    std::uniform_int_distribution<int> quarters(-8, 8);
    std::vector<std::byte> bytes;
    for (double &value : values) {
      value = quarters(random) / 4.0;
      const uint32_t bits = tlc::emulator::fromDouble(format, value);
      const auto *low = reinterpret_cast<const std::byte *>(&bits);
      bytes.insert(bytes.end(), low, low + elementBytes);
    }
    address = CudaRuntime::instance().allocate(onDevice());
    CudaRuntime::instance().copyToDevice(address, bytes);
  }
  tlc::emulator::NamedTensor onDevice() const {
    const int64_t inner = byRows ? columns : rows;
    return {name, 0, elementBytes, {int64_t(values.size()) / inner, inner}, {inner, 1}};
  }
  double read(const void *from, size_t i) const {
    uint32_t bits = 0;
    std::memcpy(&bits, static_cast<const std::byte *>(from) + i * elementBytes, elementBytes);
    return tlc::emulator::toDouble(format, bits);
  }

  std::string name;
  FloatFormat format;
  unsigned elementBytes;
  bool byRows;
  int rows, columns;
  std::vector<double> values;
  void *address = nullptr; ///< of the drawn values
};

/// One product: its operands on the device, and what it must come to.
class Product {
public:
  Product(const Gemm &gemm, const GemmCall &shape)
      : gemm(gemm), call(shape), a("A", gemm.a, gemm.aByRows, call.m, call.k, call.batches),
        b("B", gemm.b, gemm.bByRows, call.k, call.n, call.batches),
        c("C", gemm.d, gemm.dByRows, call.m, call.n, call.batches),
        bias("bias", Element::f32, true, 1, call.m, 1),
        d("D", gemm.d, gemm.dByRows, call.m, call.n, call.batches) {
    std::mt19937 random(Catch::rngSeed());
    for (Matrix *matrix : {&a, &b, &c, &bias})
      matrix->draw(random);
    call.a = a.address;
    call.b = b.address;
    call.c = c.address;
    call.bias = bias.address;
    call.alpha = 0.5;
    call.beta = 2;
    for (int batch = 0; batch < call.batches; ++batch)
      for (int row = 0; row < call.m; ++row)
        for (int column = 0; column < call.n; ++column)
          d.at(batch, row, column) = element(batch, row, column);
  }
  ~Product() { CudaRuntime::instance().freeAll(); }

  /// What is wrong under this order of what happens; empty: nothing.
  std::string run(std::optional<uint64_t> schedule) {
    CudaRuntime &runtime = CudaRuntime::instance();
    runtime.useSchedule(schedule);
    call.d = runtime.allocate(d.onDevice());
    const auto workspaceBytes = int64_t(gemm.workspaceBytes(call));
    const bool taken = gemm.run(call, runtime.allocate({"workspace", 0, 1, {workspaceBytes}, {1}}));
    if (runtime.failed())
      return runtime.takeError();
    if (!taken)
      return "CUTLASS refuses it";
    size_t wrong = 0;
    for (size_t i = 0; i < d.values.size(); ++i)
      wrong += d.read(call.d, i) != d.values[i];
    return wrong == 0 ? "" : std::to_string(wrong) + " elements are wrong";
  }

private:
  /// Of D, in its format.
  double element(int batch, int row, int column) {
    double sum = 0;
    for (int k = 0; k < call.k; ++k)
      sum += a.at(batch, row, k) * b.at(batch, k, column);
    double value = call.alpha * sum + call.beta * c.at(batch, row, column);
    if (gemm.hasBias)
      value = std::max(value + bias.at(0, 0, row), 0.0);
    return tlc::emulator::toDouble(d.format, tlc::emulator::fromDouble(d.format, value));
  }

  const Gemm &gemm;
  GemmCall call;
  Matrix a, b, c, bias, d;
};

void check(const Gemm &gemm, const GemmCall &call) {
  Product product(gemm, call);
  for (std::optional<uint64_t> schedule : {std::optional<uint64_t>(), {1}, {2}}) {
    INFO("schedule " << (schedule ? std::to_string(*schedule) : "as usual"));
    CHECK(product.run(schedule) == "");
  }
}

} // namespace

TEST_CASE("one warp loads and one warpgroup computes", "[cutlass]") {
  check(halfWarpSpecialized, {.m = 136, .n = 200, .k = 152, .batches = 2});
}

TEST_CASE("two warpgroups share a tile, and two blocks what they load", "[cutlass]") {
  check(halfCooperative, {.m = 300, .n = 136, .k = 200, .batches = 2, .multiprocessors = 4});
}

TEST_CASE("two warpgroups take turns, with a bias and relu after", "[cutlass]") {
  check(bf16Pingpong, {.m = 136, .n = 264, .k = 200, .batches = 2, .multiprocessors = 4});
}

// So deep that stream-K takes tiles apart.
constexpr GemmCall shared = {.m = 500, .n = 120, .k = 1504, .multiprocessors = 6};

TEST_CASE("blocks share tiles along the depth by stream-K", "[cutlass]") { check(bf16StreamK, shared); }

TEST_CASE("blocks share tiles along the depth in equal parts", "[cutlass]") {
  GemmCall call = shared;
  call.k = 456;
  call.splits = 3;
  check(bf16StreamK, call);
}

TEST_CASE("products of e4m3 are added up in f32 outside of the tensor cores", "[cutlass]") {
  check(e4m3Cooperative, {.m = 200, .n = 264, .k = 400, .batches = 2, .multiprocessors = 4});
}

TEST_CASE("products of e4m3 are added up in the tensor cores", "[cutlass]") {
  check(e4m3Pingpong, {.m = 136, .n = 200, .k = 400, .batches = 2, .multiprocessors = 4});
}

// These kernels have no fence.proxy.async between what threads bring to shared memory, by cp.async and as
// zeros beyond the matrix, and the products that read it. PTX asks for one.
TEST_CASE("rows that the TMA refuses are loaded by cp.async", "[cutlass]") {
  const GemmCall call = {.m = 130, .n = 140, .k = 84, .batches = 2, .multiprocessors = 4};
  CHECK_THAT(Product(halfCpAsync, call).run({}), Catch::Contains("missing: fence.proxy.async between them"));
  CudaRuntime::instance().useChecker(tlc::RaceCheck::off);
  check(halfCpAsync, call);
  CudaRuntime::instance().useChecker(tlc::RaceCheck::on);
}

TEST_CASE("what such a kernel needs is missed", "[cutlass]") {
  const auto without = [](std::string instruction, const Gemm &gemm, const GemmCall &call) {
    Product product(gemm, call);
    CudaRuntime::instance().leaveOut(std::move(instruction));
    const std::string found = product.run({});
    CudaRuntime::instance().leaveOut("");
    return found;
  };
  using Catch::Contains;
  const GemmCall small = {.m = 136, .n = 136, .k = 200, .multiprocessors = 4};
  CHECK_THAT(without("fence.proxy.async", halfWarpSpecialized, small), Contains("proxy race"));
  CHECK_THAT(without("fence.proxy.async", halfCooperative, small), Contains("proxy race"));
  CHECK_THAT(without("wgmma.wait_group", halfCooperative, small),
             Contains("a register of a product under way is used"));
  CHECK_THAT(without("fence.acq_rel.gpu", bf16StreamK, shared), Contains("of tensor 'workspace'"));
}
