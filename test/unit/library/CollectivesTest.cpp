// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of ranks by a product and a collective: each rank is a thread with an emulated device, and the
/// communicator is one of the test's own.
#include "kernels/library/Collectives.h"

#include "kernels/harness/ElementBits.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/Expect.h"

#include <barrier>
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <random>
#include <thread>

using namespace tlc;
using namespace tlc::collectives;
using namespace tlc::test;
using kernels::loadElement, kernels::storeElement;

namespace {

/// Where threads leave bytes for each other.
struct Meeting {
  explicit Meeting(size_t ranks) : given(ranks), all(std::ptrdiff_t(ranks)) {}
  std::vector<std::vector<std::byte>> given;
  std::barrier<> all;
};

class ThreadCommunicator final : public Communicator {
public:
  ThreadCommunicator(Meeting &meeting, size_t rank, Device &device)
      : meeting(meeting), number(rank), device(device) {}
  int ordinal() const override { return 0; }
  int64_t rank() const override { return int64_t(number); }
  int64_t ranks() const override { return int64_t(meeting.given.size()); }
  const std::string &version() const override { return name; }
  Result<std::vector<std::byte>> exchange(std::span<const std::byte> own) override {
    meeting.given[number].assign(own.begin(), own.end());
    meeting.all.arrive_and_wait();
    std::vector<std::byte> bytes;
    for (const auto &each : meeting.given)
      bytes.insert(bytes.end(), each.begin(), each.end());
    meeting.all.arrive_and_wait();
    return bytes;
  }
  Result<void> allGather(const void *send, void *receive, size_t bytes, Stream) override {
    const std::vector<std::byte> all = exchangeOnDevice(send, bytes);
    return device.copyToDevice(receive, all.data(), all.size());
  }
  Result<void> reduceScatter(const void *send, void *receive, size_t count, ElementType element,
                             Stream) override {
    return sum(send, receive, count * meeting.given.size(), number * count, count, element);
  }
  Result<void> allReduce(const void *send, void *receive, size_t count, ElementType element,
                         Stream) override {
    return sum(send, receive, count, 0, count, element);
  }
  Result<void> synchronize(Stream stream) override { return device.synchronize(stream); }
  void abandon() override {}

private:
  std::vector<std::byte> exchangeOnDevice(const void *send, size_t bytes) {
    std::vector<std::byte> own(bytes);
    if (Result<void> copied = device.copyToHost(own.data(), send, bytes); !copied)
      own.assign(bytes, std::byte(0xFF)); // not a number
    return *exchange(own);
  }
  Result<void> sum(const void *send, void *receive, size_t all, size_t begin, size_t count,
                   ElementType element) {
    const auto elementBytes = size_t(bytesOf(element, 1));
    const std::vector<std::byte> given = exchangeOnDevice(send, all * elementBytes);
    std::vector<std::byte> sums(count * elementBytes);
    for (size_t i = 0; i < count; ++i) {
      double total = 0;
      for (size_t rank = 0; rank < meeting.given.size(); ++rank)
        total += loadElement(element, given.data(), int64_t(rank * all + begin + i));
      storeElement(element, sums.data(), total, int64_t(i));
    }
    return device.copyToDevice(receive, sums.data(), sums.size());
  }

  Meeting &meeting;
  const size_t number;
  Device &device;
  const std::string name = "threads";
};

using Numbers = std::vector<double>;

/// Memory of a device, with elements between its rows.
struct Matrix {
  Matrix(Device &device, ElementType element, std::vector<int64_t> shape, int64_t padding,
         const Numbers *numbers)
      : view(contiguousView(nullptr, element, shape)) {
    const int64_t columns = shape.back(), row = columns + padding;
    for (size_t axis = 0; axis + 1 < shape.size(); ++axis)
      view.strides[axis] = view.strides[axis] / std::max<int64_t>(columns, 1) * row;
    rows = shape.size() == 1 ? 1 : shape[0] * (shape.size() == 3 ? shape[1] : 1);
    bytes.resize(size_t(bytesOf(element, std::max<int64_t>(rows * row, 1))), std::byte(0xFF));
    for (int64_t i = 0; numbers && i < rows * columns; ++i)
      storeElement(element, bytes.data(), (*numbers)[size_t(i)], i / columns * row + i % columns);
    view.data = *device.allocate(bytes.size());
    (void)device.copyToDevice(view.data, bytes.data(), bytes.size());
  }
  Numbers numbers(Device &device) {
    (void)device.copyToHost(bytes.data(), view.data, bytes.size());
    const int64_t columns = view.shape.back(), row = rows > 1 ? view.strides[view.shape.size() - 2] : columns;
    Numbers all;
    for (int64_t i = 0; i < rows * columns; ++i)
      all.push_back(loadElement(view.element, bytes.data(), i / columns * row + i % columns));
    return all;
  }

  TensorView view;
  int64_t rows = 0;
  std::vector<std::byte> bytes;
};

/// A rank's tensors, and what comes out of them.
struct RankData {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int64_t> paddings;
  std::vector<Numbers> inputs;
  Numbers expected;
};

/// What each rank says, or "" where its result is as expected.
std::vector<std::string> run(RankKernel kernel, ElementType element, ElementType out, double allowed,
                             const std::vector<RankData> &ranks) {
  std::vector<std::string> said(ranks.size());
  Meeting meeting(ranks.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    threads.emplace_back([&, rank] {
      const RankData &data = ranks[rank];
      const std::unique_ptr<Device> device = createEmulatorDevice({.multiprocessors = 3, .hostThreads = 1});
      kernels::ArtifactCache artifacts;
      kernels::Programs programs(*device, artifacts);
      ThreadCommunicator communicator(meeting, rank, *device);
      std::vector<Matrix> tensors;
      for (size_t i = 0; i < data.shapes.size(); ++i) {
        const bool isInput = i < data.inputs.size();
        tensors.emplace_back(*device, isInput ? element : out, data.shapes[i], data.paddings[i],
                             isInput ? &data.inputs[i] : nullptr);
      }
      std::vector<TensorView> views;
      for (const Matrix &tensor : tensors)
        views.push_back(tensor.view);
      Result<size_t> bytes = workspaceSize(programs, communicator, kernel, views);
      if (!bytes) {
        said[rank] = bytes.error().message;
        return;
      }
      const Workspace workspace = {*device->allocate(*bytes), *bytes};
      if (Result<void> done = launch(programs, communicator, kernel, views, workspace, {}); !done) {
        said[rank] = done.error().message;
        return;
      }
      const Numbers actual = tensors.back().numbers(*device);
      for (size_t i = 0; i < actual.size() && said[rank].empty(); ++i)
        if (!(std::abs(actual[i] - data.expected[i]) <= allowed * (1 + std::abs(data.expected[i]))))
          said[rank] = fmt::format("element {}: expected {}, but got {}", i, data.expected[i], actual[i]);
    });
  for (std::thread &thread : threads)
    thread.join();
  return said;
}

/// Of factors that bf16 holds exactly.
Numbers draw(std::mt19937 &random, int64_t count) {
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(double(int64_t(random() % 17) - 8) / 8);
  return numbers;
}

/// Adds A Bᵀ, from a row of A on.
void addProduct(Numbers &c, const Numbers &a, int64_t firstRow, const Numbers &b, int64_t m, int64_t n,
                int64_t k, int64_t at = 0) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        c[size_t(at + i * n + j)] += a[size_t((firstRow + i) * k + l)] * b[size_t(j * k + l)];
}

struct Extents {
  int64_t m, n, k;
};

std::vector<RankData> dataOf(RankKernel kernel, size_t ranks, Extents extents) {
  const auto [m, n, k] = extents;
  const auto count = int64_t(ranks);
  std::mt19937 random(7);
  const bool gathers = kernel == RankKernel::allGatherGemm,
             scatters = kernel == RankKernel::gemmReduceScatter;
  std::vector<RankData> all(ranks);
  for (RankData &data : all) {
    using Shape = std::vector<int64_t>;
    data.shapes = {
        scatters ? Shape{count, m, k} : Shape{m, k}, {n, k}, gathers ? Shape{count, m, n} : Shape{m, n}};
    data.paddings = {gathers ? 0 : 8, 8, gathers ? 8 : 0};
    data.inputs = {draw(random, (scatters ? count : 1) * m * k), draw(random, n * k)};
    data.expected.resize(size_t((gathers ? count : 1) * m * n));
  }
  for (int64_t rank = 0; rank < count; ++rank)
    for (int64_t other = 0; other < count; ++other) {
      const std::vector<Numbers> &inputs = all[size_t(other)].inputs;
      RankData &data = all[size_t(rank)];
      if (gathers)
        addProduct(data.expected, inputs[0], 0, data.inputs[1], m, n, k, other * m * n);
      else
        addProduct(data.expected, inputs[0], scatters ? rank * m : 0, inputs[1], m, n, k);
    }
  return all;
}

const std::vector<std::string> twoRight(2), threeRight(3);

} // namespace

TEST_CASE("products of ranks that do not reach each other's memory", "[collectives]") {
  for (RankKernel kernel :
       {RankKernel::allGatherGemm, RankKernel::gemmReduceScatter, RankKernel::gemmAllReduce}) {
    INFO(toString(kernel));
    CHECK(run(kernel, ElementType::bf16, ElementType::f32, 1e-5, dataOf(kernel, 3, {70, 40, 72})) ==
          threeRight);
    CHECK(run(kernel, ElementType::f16, ElementType::f16, 4e-3, dataOf(kernel, 2, {33, 24, 200})) ==
          twoRight);
    CHECK(run(kernel, ElementType::bf16, ElementType::f32, 1e-5, dataOf(kernel, 2, {5, 9, 3})) == twoRight);
    CHECK(run(kernel, ElementType::bf16, ElementType::f32, 1e-5, dataOf(kernel, 2, {0, 8, 8})) == twoRight);
    CHECK(run(kernel, ElementType::bf16, ElementType::f32, 1e-5, dataOf(kernel, 2, {5, 0, 8})) == twoRight);
    CHECK(run(kernel, ElementType::bf16, ElementType::f32, 1e-5, dataOf(kernel, 2, {5, 9, 0})) == twoRight);
    CHECK(run(kernel, ElementType::bf16, ElementType::f32, 1e-5, dataOf(kernel, 3, {1, 9, 8})) == threeRight);
  }
}

TEST_CASE("a sum of ranks that do not reach each other's memory", "[collectives]") {
  std::mt19937 random(3);
  std::vector<RankData> ranks(3);
  for (RankData &data : ranks) {
    data = {.shapes = {{1001}, {1001}},
            .paddings = {0, 0},
            .inputs = {draw(random, 1001)},
            .expected = Numbers(1001)};
  }
  for (RankData &data : ranks)
    for (const RankData &other : ranks)
      for (size_t i = 0; i < data.expected.size(); ++i)
        data.expected[i] += other.inputs[0][i];
  CHECK(run(RankKernel::allReduce, ElementType::f32, ElementType::f32, 0, ranks) == threeRight);
}

TEST_CASE("tensors that the collective cannot take are refused before it begins", "[collectives]") {
  auto refusals = [](RankKernel kernel, const std::function<void(RankData &)> &change) {
    auto ranks = dataOf(kernel, 2, {16, 24, 32});
    for (RankData &data : ranks)
      change(data);
    const auto said = run(kernel, ElementType::bf16, ElementType::bf16, 1, ranks);
    CHECK(said[0] == said[1]);
    return said[0];
  };
  CHECK(refusals(RankKernel::allGatherGemm, [](RankData &data) { data.paddings[0] = 8; }) ==
        "argument 'A' axis 0: expected a stride of 32 because NCCL takes memory without gaps, but got 40");
  CHECK(refusals(RankKernel::gemmReduceScatter, [](RankData &data) { data.paddings[2] = 8; }) ==
        "argument 'C' axis 0: expected a stride of 24 because NCCL takes memory without gaps, but got 32");
  CHECK(refusals(RankKernel::gemmAllReduce, [](RankData &data) { data.paddings[2] = 8; }) ==
        "argument 'C' axis 0: expected a stride of 24 because NCCL takes memory without gaps, but got 32");
  CHECK(refusals(RankKernel::allGatherGemm, [](RankData &data) { data.shapes[2][0] = 3; }) ==
        "argument 'C' axis 0: expected 2, as many as there are ranks, but got 3");
  CHECK(refusals(RankKernel::gemmReduceScatter, [](RankData &data) { data.shapes.pop_back(); }) ==
        "gemm_reduce_scatter expects 3 tensors, but got 2");
  CHECK_THAT(
      refusals(RankKernel::gemmAllReduce, [](RankData &data) { data.shapes[1][1] = 16; }),
      Catch::StartsWith("argument 'B' axis 1: expected extent 32 because dimension 'k' is 32 in argument 'A' "
                        "axis 1, but got 16"));
  CHECK(findRankKernel("gemm").error().message ==
        "expected a kernel of ranks among all_reduce, all_gather_gemm, "
        "gemm_reduce_scatter, gemm_all_reduce, but got 'gemm'");
  CHECK(*findRankKernel("gemm_all_reduce") == RankKernel::gemmAllReduce);
}

TEST_CASE("rows of ranks that lie apart, and a workspace that is too small", "[collectives]") {
  const std::unique_ptr<Device> device = createEmulatorDevice({.multiprocessors = 3});
  kernels::ArtifactCache artifacts;
  kernels::Programs programs(*device, artifacts);
  Meeting meeting(1);
  ThreadCommunicator communicator(meeting, 0, *device);
  Matrix a(*device, ElementType::bf16, {16, 32}, 0, nullptr),
      b(*device, ElementType::bf16, {24, 32}, 0, nullptr),
      c(*device, ElementType::bf16, {1, 16, 24}, 0, nullptr);
  const std::vector<TensorView> views = {a.view, b.view, c.view};
  CHECK(launch(programs, communicator, RankKernel::allGatherGemm, views, {}, {}).error().message ==
        "workspace: expected at least 1024 bytes for these tensors and options, but got 0; "
        "collectives::workspaceSize says how many it takes");
  CHECK(
      launch(programs, communicator, RankKernel::allGatherGemm, views, {nullptr, 1024}, {}).error().message ==
      "workspace: expected the address of 1024 bytes, but got null");
  CHECK_THAT(launch(programs, communicator, RankKernel::allGatherGemm, views,
                    {static_cast<std::byte *>(c.view.data) + 2, 1024}, {})
                 .error()
                 .message,
             Catch::StartsWith("workspace: expected an address that is a multiple of 256"));
  Meeting ofTwo(2);
  ThreadCommunicator two(ofTwo, 0, *device);
  TensorView apart = {c.view.data, ElementType::bf16, {2, 16, 24}, {1000, 24, 1}};
  const std::vector<TensorView> apartViews = {a.view, b.view, apart};
  CHECK(workspaceSize(programs, two, RankKernel::allGatherGemm, apartViews).error().message ==
        "argument 'C' axis 0: expected a stride of 384 because one product has the rows of all ranks, but "
        "got 1000");
  TensorView row = a.view;
  row.shape[0] = 1;
  const TensorView rows = {c.view.data, ElementType::bf16, {2, 1, 24}, {1000, 7, 1}};
  const std::vector<TensorView> rowViews = {row, b.view, rows};
  expectValue(workspaceSize(programs, two, RankKernel::allGatherGemm, rowViews));
}

TEST_CASE("a product and a collective are faster where there is little to hide", "[collectives]") {
  const std::unique_ptr<Device> device = createEmulatorDevice({.multiprocessors = 1});
  // m, n and k of all ranks, as docs/performance/several-gpus.md has them.
  auto isFasterOf = [&](size_t ranks, RankKernel kernel, int64_t m, int64_t n, int64_t k) {
    Meeting meeting(ranks);
    ThreadCommunicator communicator(meeting, 0, *device);
    const auto r = int64_t(ranks);
    auto view = [](const std::vector<int64_t> &shape) {
      return contiguousView(nullptr, ElementType::bf16, shape);
    };
    std::vector<TensorView> views;
    if (kernel == RankKernel::allGatherGemm)
      views = {view({m / r, k}), view({n / r, k}), view({r, m / r, n / r})};
    else if (kernel == RankKernel::gemmReduceScatter)
      views = {view({r, m / r, k / r}), view({n, k / r}), view({m / r, n})};
    else
      views = {view({m, k / r}), view({n, k / r}), view({m, n})};
    return expectValue(isFaster(communicator, kernel, views));
  };
  using enum RankKernel;
  CHECK(isFasterOf(2, allGatherGemm, 1024, 1024, 1024));
  CHECK_FALSE(isFasterOf(2, allGatherGemm, 2048, 2048, 2048));
  CHECK_FALSE(isFasterOf(2, allGatherGemm, 512, 8192, 8192));
  CHECK(isFasterOf(4, allGatherGemm, 512, 8192, 8192));
  CHECK_FALSE(isFasterOf(4, allGatherGemm, 8192, 8192, 8192));
  CHECK(isFasterOf(2, gemmReduceScatter, 2048, 2048, 2048));
  CHECK_FALSE(isFasterOf(2, gemmReduceScatter, 4096, 4096, 4096));
  CHECK(isFasterOf(4, gemmReduceScatter, 512, 8192, 8192));
  CHECK_FALSE(isFasterOf(4, gemmReduceScatter, 8192, 8192, 8192));
  CHECK(isFasterOf(2, gemmAllReduce, 512, 8192, 8192));
  CHECK_FALSE(isFasterOf(2, gemmAllReduce, 4096, 4096, 4096));
  CHECK(isFasterOf(4, gemmAllReduce, 512, 8192, 8192));
  CHECK_FALSE(isFasterOf(4, gemmAllReduce, 8192, 8192, 8192));
  CHECK_FALSE(isFasterOf(1, gemmAllReduce, 64, 64, 64)); // nothing to sum
  Meeting meeting(2);
  ThreadCommunicator two(meeting, 0, *device);
  const std::vector<TensorView> sums = {contiguousView(nullptr, ElementType::f32, {1 << 28}),
                                        contiguousView(nullptr, ElementType::f32, {1 << 28})};
  CHECK(expectValue(isFaster(two, allReduce, sums)));
  CHECK(isFaster(two, allGatherGemm, sums).error().message == "all_gather_gemm expects 3 tensors, but got 2");
}
