// SPDX-License-Identifier: Apache-2.0
/// \file
/// The CUDA device on a GPU of sm_90: launches, tensor maps, clusters, graphs
/// and errors.
#include "runtime/cuda/CudaDevice.h"

#include "runtime/artifact/Reports.h"
#include "runtime/cuda/CudaContext.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/unit/device/CudaKernels.h"
#include "test/unit/device/StreamCases.h"

#include <bit>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <numeric>
#include <random>

using namespace tlc;
using Catch::Matchers::Contains;
using tlc::test::scaleArtifact;
using Kind = KernelParameter::Kind;

namespace {

std::unique_ptr<Device> openDevice() {
  Result<std::unique_ptr<Device>> device = createCudaDevice(0);
  INFO((device ? "" : device.error().message));
  REQUIRE(device);
  return std::move(*device);
}

void require(const Result<void> &result) {
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
}

/// Device memory filled from and read back to a vector.
template <class T> class Buffer {
public:
  Buffer(Device &device, const std::vector<T> &values) : device(device), count(values.size()) {
    Result<void *> memory = device.allocate(bytes());
    REQUIRE(memory);
    data = *memory;
    require(device.copyToDevice(data, values.data(), bytes()));
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { (void)device.free(data); }
  std::vector<T> read() const {
    std::vector<T> values(count);
    require(device.copyToHost(values.data(), data, bytes()));
    return values;
  }
  size_t bytes() const { return count * sizeof(T); }
  void *data = nullptr;

private:
  Device &device;
  size_t count;
};

std::vector<float> randomValues(size_t count) {
  std::mt19937 random(Catch::rngSeed());
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> result(count);
  for (float &value : result)
    value = values(random);
  return result;
}

constexpr float poison = -12345.0f;

/// Copies x to the front of y, whose extents are whole boxes of 8 x 32, by TMA.
Artifact boxArtifact() {
  auto boxes = [](int64_t dimension, int64_t size) {
    return HostExpr::apply(HostExpr::Op::divide, HostExpr::dimension(dimension), HostExpr::constant(size));
  };
  return {.name = "box",
          .target = "sm_90a",
          .dimensions = {{.name = "M"},
                         {.name = "N"},
                         {.name = "P", .multipleOf = 8},
                         {.name = "Q", .multipleOf = 32}},
          .tensors = {{.name = "x", .shape = {{.dimension = 0}, {.dimension = 1}}},
                      {.name = "y", .access = Access::output, .shape = {{.dimension = 2}, {.dimension = 3}}}},
          .variants = {{.name = "general",
                        .launches = {{.entry = "box",
                                      .grid = {boxes(3, 32), boxes(2, 8), HostExpr::constant(1)},
                                      .threads = 128,
                                      .tensorMaps = {{.tensor = 0, .box = {8, 32}}},
                                      .parameters = {{.kind = Kind::dimension, .index = 0},
                                                     {.kind = Kind::tensorMap, .index = 0},
                                                     {.kind = Kind::tensorPointer, .index = 1},
                                                     {.kind = Kind::tensorStride, .index = 1, .axis = 0}}}},
                        .ptx = std::string(test::boxPtx)}}};
}

/// Copies 32 columns of x, from row F on, to y and z; rows from L on are outside of x and y.
Artifact limitedArtifact() {
  auto limited = [](int64_t tensor, int64_t before) -> TensorMapRecipe {
    return {.tensor = tensor, .box = {8, 32}, .limitedAxis = 0, .before = before};
  };
  auto blocks = HostExpr::apply(HostExpr::Op::divide, HostExpr::dimension(1), HostExpr::constant(8));
  return {.name = "limited",
          .target = "sm_90a",
          .dimensions = {{.name = "M"}, {.name = "P", .multipleOf = 8}, {.name = "F"}, {.name = "L"}},
          .tensors = {{.name = "x", .shape = {{.dimension = 0}, {.constant = 32}}},
                      {.name = "y", .access = Access::inout, .shape = {{.dimension = 0}, {.constant = 32}}},
                      {.name = "z", .access = Access::output, .shape = {{.dimension = 1}, {.constant = 32}}},
                      {.name = "f", .shape = {{.dimension = 2}}},
                      {.name = "l", .shape = {{.dimension = 3}}}},
          .variants = {{.name = "general",
                        .launches = {{.entry = "limited",
                                      .grid = {blocks, HostExpr::constant(1), HostExpr::constant(1)},
                                      .threads = 32,
                                      .tensorMaps = {limited(0, 0),
                                                     limited(0, 8),
                                                     limited(1, 0),
                                                     limited(1, 8),
                                                     {.tensor = 2, .box = {8, 32}}},
                                      .parameters = {{.kind = Kind::dimension, .index = 2},
                                                     {.kind = Kind::dimension, .index = 3},
                                                     {.kind = Kind::tensorMap, .index = 0},
                                                     {.kind = Kind::tensorMap, .index = 1},
                                                     {.kind = Kind::tensorMap, .index = 2},
                                                     {.kind = Kind::tensorMap, .index = 3},
                                                     {.kind = Kind::tensorMap, .index = 4}}}},
                        .ptx = std::string(test::limitedPtx)}}};
}

std::shared_ptr<const LoadedProgram> load(Device &device, Artifact artifact) {
  Result<std::shared_ptr<const LoadedProgram>> program = device.load(std::move(artifact));
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  return *program;
}

std::string loadFailure(Device &device, Artifact artifact) {
  Result<std::shared_ptr<const LoadedProgram>> program = device.load(std::move(artifact));
  return program ? "" : program.error().message;
}

TensorView rows(void *data, int64_t m, int64_t n, int64_t stride) {
  return {data, ElementType::f32, {m, n}, {stride, 1}};
}

ScalarValue scalar(float value) {
  return {.element = ElementType::f32, .bits = std::bit_cast<uint32_t>(value)};
}

} // namespace

std::unique_ptr<Device> tlc::test::openStreamDevice() { return openDevice(); }

TEST_CASE("the device describes itself", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  const DeviceProperties &properties = device->properties();
  std::printf("%s: %s, %d multiprocessors\n", properties.name.c_str(), properties.target.c_str(),
              properties.multiprocessors);
  CHECK(properties.target == "sm_90a");
  CHECK(properties.multiprocessors > 0);
  Result<void *> nothing = device->allocate(0);
  REQUIRE(nothing);
  require(device->free(*nothing));
}

TEST_CASE("strided rows are written and nothing between them", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  auto program = load(*device, scaleArtifact());
  const int64_t m = 37, n = 300, xStride = 311, yStride = 305;
  std::vector<float> input = randomValues(m * xStride);
  Buffer<float> x(*device, input), y(*device, std::vector<float>(m * yStride, poison));
  require(device->launch(*program, {.tensors = {rows(x.data, m, n, xStride), rows(y.data, m, n, yStride)},
                                    .scalars = {scalar(3)}}));
  require(device->synchronize());
  std::vector<float> output = y.read();
  size_t wrong = 0;
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < yStride; ++column) {
      float expected = column < n ? 3 * input[row * xStride + column] : poison;
      wrong += output[row * yStride + column] != expected;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("outputs that ask for it are cleared, also where nothing is launched", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  Artifact artifact = scaleArtifact();
  artifact.variants[0].launches[0].grid[0] = HostExpr::constant(0);
  auto program = load(*device, std::move(artifact));
  Buffer<float> x(*device, std::vector<float>(4 * 8, 1)), y(*device, std::vector<float>(4 * 8, poison));
  require(device->launch(
      *program, {.tensors = {rows(x.data, 4, 6, 8), rows(y.data, 4, 6, 8)}, .scalars = {scalar(1)}}));
  require(device->synchronize());
  std::vector<float> output = y.read();
  for (int64_t i = 0; i < 4 * 8; ++i)
    CHECK(output[i] == (i % 8 < 6 ? 0.0f : poison));
}

TEST_CASE("tensor maps read the tensor and zeros outside it", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  auto program = load(*device, boxArtifact());
  const int64_t p = 24, q = 96;
  for (auto [m, n] : {std::pair<int64_t, int64_t>(24, 96), {19, 70}, {1, 1}, {0, 70}, {19, 0}}) {
    INFO("x is " << m << " x " << n);
    const int64_t stride = 100;
    std::vector<float> input = randomValues(m * stride);
    Buffer<float> x(*device, input), y(*device, std::vector<float>(p * q, poison));
    require(device->launch(*program, {.tensors = {rows(x.data, m, n, stride), rows(y.data, p, q, q)}}));
    require(device->synchronize());
    std::vector<float> output = y.read();
    size_t wrong = 0;
    for (int64_t row = 0; row < p; ++row) {
      for (int64_t column = 0; column < q; ++column)
        wrong += output[row * q + column] != (row < m && column < n ? input[row * stride + column] : 0.0f);
    }
    CHECK(wrong == 0);
  }
}

// Of a tensor of many gigabytes only the rows around the boxes hold anything.
TEST_CASE("boxes of a map with a limited axis end at the limit", "[cuda][limited]") {
  std::unique_ptr<Device> device = openDevice();
  auto program = load(*device, limitedArtifact());
  struct Case {
    int64_t rows, stride, first, limit;
  };
  constexpr int64_t boxRows = 32, around = 16, columns = 32;
  for (Case c : {Case{100, 32, 0, 100},
                 {100, 32, 0, 0},
                 {100, 32, 0, 1},
                 {100, 32, 3, 17},
                 {100, 36, 80, 91},
                 {100, 40, 100, 100},
                 {100, 40, 99, 100},
                 {1, 32, 0, 1},
                 {1, 32, 0, 0},
                 {4'000'000, 512, 3'999'980, 3'999'993},
                 {4'000'000, 512, 0, 5},
                 {4'000'000, 512, 2'000'000, 3'000'000}}) {
    INFO(c.rows << " rows of stride " << c.stride << ", from " << c.first << " to " << c.limit);
    const int64_t begin = std::max<int64_t>(0, c.first - around),
                  end = std::min(c.rows, c.first + boxRows + around), held = end - begin;
    const size_t bytes = size_t((c.rows + 1) * c.stride) * sizeof(float);
    Result<void *> x = device->allocate(bytes), y = device->allocate(bytes);
    REQUIRE(x);
    REQUIRE(y);
    std::vector<float> input = randomValues(size_t(held * c.stride)), before(input.size(), poison);
    for (int64_t row = begin; row < end; ++row)
      for (int64_t column = 0; column < c.stride; ++column)
        if (row >= c.limit || column >= columns)
          input[size_t((row - begin) * c.stride + column)] = std::nanf("");
    const size_t heldBytes = input.size() * sizeof(float), offset = size_t(begin * c.stride) * sizeof(float);
    auto *heldX = static_cast<std::byte *>(*x) + offset, *heldY = static_cast<std::byte *>(*y) + offset;
    require(device->copyToDevice(heldX, input.data(), heldBytes));
    require(device->copyToDevice(heldY, before.data(), heldBytes));
    Buffer<float> z(*device, std::vector<float>(boxRows * columns, poison));
    auto extentOnly = [&](int64_t extent) { return contiguousView(z.data, ElementType::f32, {extent}); };
    require(device->launch(
        *program,
        {.tensors = {rows(*x, c.rows, columns, c.stride), rows(*y, c.rows, columns, c.stride),
                     rows(z.data, boxRows, columns, columns), extentOnly(c.first), extentOnly(c.limit)}}));
    require(device->synchronize());
    std::vector<float> after(before.size()), loaded = z.read();
    require(device->copyToHost(after.data(), heldY, heldBytes));
    size_t wrong = 0;
    for (int64_t row = begin; row < end; ++row)
      for (int64_t column = 0; column < c.stride; ++column) {
        const auto i = size_t((row - begin) * c.stride + column);
        const bool copied = row >= c.first && row < std::min(c.limit, c.first + boxRows) && column < columns;
        wrong += after[i] != (copied ? input[i] : poison);
      }
    for (int64_t row = 0; row < boxRows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        const bool inside = c.first + row < c.limit;
        const float expected = inside ? input[size_t((c.first - begin + row) * c.stride + column)] : 0;
        wrong += loaded[size_t(row * columns + column)] != expected;
      }
    CHECK(wrong == 0);
    require(device->free(*x));
    require(device->free(*y));
  }
}

TEST_CASE("clusters and large shared memory are set up", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  Artifact artifact = {
      .name = "cluster",
      .target = "sm_90a",
      .dimensions = {{.name = "N"}},
      .tensors =
          {{.name = "y", .element = ElementType::i32, .access = Access::output, .shape = {{.dimension = 0}}}},
      .variants = {
          {.name = "general",
           .launches = {{.entry = "cluster",
                         .grid = {HostExpr::dimension(0), HostExpr::constant(1), HostExpr::constant(1)},
                         .threads = 32,
                         .cluster = {4, 1, 1},
                         .sharedBytes = 100 * 1024,
                         .parameters = {{.kind = Kind::tensorPointer}}}},
           .ptx = std::string(test::clusterPtx)}}};
  auto program = load(*device, artifact);
  Buffer<int32_t> y(*device, std::vector<int32_t>(16, -1));
  require(device->launch(*program, {.tensors = {contiguousView(y.data, ElementType::i32, {16})}}));
  require(device->synchronize());
  std::vector<int32_t> output = y.read();
  for (int i = 0; i < 16; ++i)
    CHECK(output[i] == i % 4);
}

TEST_CASE("launches on a stream can be captured in a graph and replayed", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  auto program = load(*device, scaleArtifact());
  Result<std::shared_ptr<const CudaContext>> context = CudaContext::create(0);
  REQUIRE(context);
  const Driver &driver = (*context)->driver;
  CurrentContext scope(**context);
  CUstream stream = nullptr;
  REQUIRE(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);

  Buffer<float> x(*device, std::vector<float>(64, 2)), y(*device, std::vector<float>(64, poison));
  LaunchArguments arguments = {.tensors = {rows(x.data, 4, 15, 16), rows(y.data, 4, 15, 16)},
                               .scalars = {scalar(5)}};
  REQUIRE(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  require(device->launch(*program, arguments, {stream}));
  CUgraph graph = nullptr;
  REQUIRE(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  REQUIRE(driver.cuGraphInstantiateWithFlags(&executable, graph, 0) == CUDA_SUCCESS);
  // Nothing has run yet.
  CHECK(y.read()[0] == poison);
  REQUIRE(driver.cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  require(device->synchronize({stream}));
  CHECK(y.read()[0] == 10.0f);
  CHECK(y.read()[15] == poison);
  // The graph reads memory when it runs.
  std::vector<float> changed(64, 3);
  require(device->copyToDevice(x.data, changed.data(), x.bytes()));
  REQUIRE(driver.cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
  require(device->synchronize({stream}));
  CHECK(y.read()[62] == 15.0f);
  REQUIRE(driver.cuStreamDestroy(stream) == CUDA_SUCCESS);
}

namespace {
/// A thread that prints once.
Artifact printArtifact() {
  std::string ptx = fmt::format(R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .global .align 16 .b8 reports$[{}];
.visible .entry print()
{{
  .reg .b32 %before;
  atom.global.add.u32 %before, [reports$], 1;
  ret;
}})",
                                reportBufferBytes);
  const HostExpr one = HostExpr::constant(1);
  return {.name = "print",
          .target = "sm_90a",
          .variants = {{.name = "general",
                        .launches = {{.entry = "print", .grid = {one, one, one}, .threads = 1}},
                        .ptx = std::move(ptx),
                        .reports = {{ReportSite::Kind::print, "here", "a.cpp:1:2", {}}}}}};
}
} // namespace

TEST_CASE("a graph of a program that prints does so at each launch", "[cuda]") {
  int prints = 0;
  Result<std::unique_ptr<Device>> device =
      createCudaDevice(0, {.print = [&](std::string_view) { ++prints; }});
  REQUIRE(device);
  auto program = load(**device, printArtifact());
  Result<std::shared_ptr<const CudaContext>> context = CudaContext::create(0);
  REQUIRE(context);
  const Driver &driver = (*context)->driver;
  CurrentContext scope(**context);
  CUstream stream = nullptr;
  REQUIRE(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  require((*device)->launch(*program, {}, {stream}));
  CUgraph graph = nullptr;
  REQUIRE(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  REQUIRE(driver.cuGraphInstantiateWithFlags(&executable, graph, 0) == CUDA_SUCCESS);
  for (int launches = 1; launches <= 2; ++launches) {
    REQUIRE(driver.cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
    require((*device)->synchronize({stream}));
    CHECK(prints == launches);
  }
  REQUIRE(driver.cuStreamDestroy(stream) == CUDA_SUCCESS);
}

TEST_CASE("grids can be computed for a part of the GPU", "[cuda]") {
  const int all = openDevice()->properties().multiprocessors;
  Result<std::unique_ptr<Device>> some = createCudaDevice(0, {.multiprocessors = all - 1});
  REQUIRE(some);
  CHECK((*some)->properties().multiprocessors == all - 1);
  for (int count : {0, all + 1}) {
    Result<std::unique_ptr<Device>> refused = createCudaDevice(0, {.multiprocessors = count});
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Contains(fmt::format("expected 1 to {} multiprocessors", all)) &&
                                            Contains(fmt::format("but got {}", count)));
  }
}

TEST_CASE("memory of the host is refused by the argument's name", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  auto program = load(*device, scaleArtifact());
  std::vector<float> host(64);
  Buffer<float> y(*device, std::vector<float>(64, poison));
  Result<void> launched = device->launch(
      *program, {.tensors = {rows(host.data(), 4, 16, 16), rows(y.data, 4, 16, 16)}, .scalars = {scalar(1)}});
  REQUIRE_FALSE(launched);
  CHECK_THAT(launched.error().message, Contains("argument 'x': expected memory of GPU 0, but 0x") &&
                                           Contains("is an address of the host"));
}

TEST_CASE("a GPU is no peer of itself nor of an emulated device", "[cuda][peers]") {
  std::unique_ptr<Device> device = openDevice(), emulator = createEmulatorDevice();
  CHECK(device->properties().ordinal == 0);
  CHECK_THAT(device->enablePeerAccess(*device).error().message, Contains("GPU 0 is its own peer"));
  CHECK_THAT(device->enablePeerAccess(*emulator).error().message, Contains("but got emulator (sm_90a)"));
}

TEST_CASE("GPUs copy between each other and reach each other's memory once that is enabled",
          "[cuda][peers]") {
  std::unique_ptr<Device> first = openDevice();
  Result<std::unique_ptr<Device>> second = createCudaDevice(1);
  if (!second) {
    WARN("skipped, this test needs two GPUs: " << second.error().message);
    return;
  }
  CHECK((*second)->properties().ordinal == 1);
  const std::vector<float> values = randomValues(64);
  Buffer<float> x(*first, values), copy(**second, std::vector<float>(64, poison)),
      y(**second, std::vector<float>(64, poison));
  require((*second)->copyFromPeer(copy.data, *first, x.data, x.bytes()));
  CHECK(copy.read() == values);
  auto program = load(**second, scaleArtifact());
  const LaunchArguments arguments = {.tensors = {rows(x.data, 4, 16, 16), rows(y.data, 4, 16, 16)},
                                     .scalars = {scalar(1)}};
  Result<void> refused = (*second)->launch(*program, arguments);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Contains("argument 'x': expected memory of GPU 1, but 0x") &&
                 Contains("is memory of GPU 0, to which peer access is not enabled"));
  require((*second)->enablePeerAccess(*first));
  require((*second)->enablePeerAccess(*first)); // once more is no mistake
  require((*second)->launch(*program, arguments));
  require((*second)->synchronize());
  CHECK(y.read() == values);
}

TEST_CASE("a stream clears memory and waits for an event", "[cuda]") {
  std::unique_ptr<Device> device = openDevice(), emulator = createEmulatorDevice();
  const std::vector<float> values = randomValues(64);
  Buffer<float> x(*device, values);
  require(device->clear(x.data, 128));
  Result<std::unique_ptr<const Event>> event = device->record();
  REQUIRE(event);
  require(device->wait(**event));
  std::vector<float> cleared = values;
  std::fill_n(cleared.begin(), 32, 0.0F);
  CHECK(x.read() == cleared);
  Result<std::unique_ptr<const Event>> emulated = emulator->record();
  REQUIRE(emulated);
  CHECK_THAT(device->wait(**emulated).error().message, Contains("but got one of an emulated device"));
  CHECK_THAT(emulator->wait(**event).error().message, Contains("but got one of a GPU"));
}

TEST_CASE("programs that cannot be loaded say why", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  Artifact artifact = scaleArtifact();
  SECTION("text that is no PTX") {
    artifact.variants[0].ptx = ".version 8.0\n.target sm_90a\n.address_size 64\nnonsense;\n";
    CHECK_THAT(loadFailure(*device, artifact),
               Contains("cannot load variant 'general' of 'scale'; the driver says: ") &&
                   Contains("nonsense") && Contains("CUDA_ERROR_INVALID_PTX"));
  }
  SECTION("a PTX version from the future") {
    artifact.variants[0].ptx.replace(artifact.variants[0].ptx.find("8.0"), 3, "99.0");
    CHECK_THAT(loadFailure(*device, artifact), Contains("cannot load variant 'general' of 'scale'"));
  }
  SECTION("an entry that is not there") {
    artifact.variants[0].launches[0].entry = "skale";
    CHECK_THAT(loadFailure(*device, artifact), Contains("'scale' has no entry 'skale'"));
  }
  SECTION("another architecture") {
    artifact.target = "sm_100a";
    CHECK_THAT(loadFailure(*device, artifact), Contains("'scale' is compiled for sm_100a, but") &&
                                                   Contains("compute capability 9.0; compile it for sm_90a"));
  }
  SECTION("an inconsistent artifact") {
    artifact.variants.clear();
    CHECK(loadFailure(*device, artifact) == "artifact 'scale': it has no variant");
  }
}

TEST_CASE("the driver's compilation is reported", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  auto program = load(*device, scaleArtifact());
  const CudaCompilation *compilation = cudaCompilationOf(*program);
  REQUIRE(compilation);
  REQUIRE(compilation->kernels.size() == 1);
  CHECK(compilation->kernels[0].entry == "scale");
  CHECK(compilation->kernels[0].registers > 0);
  CHECK(compilation->kernels[0].spillBytes == 0);
}

TEST_CASE("a launch costs the host a few microseconds", "[cuda]") {
  std::unique_ptr<Device> device = openDevice();
  auto program = load(*device, boxArtifact());
  Buffer<float> x(*device, std::vector<float>(8 * 32, 1)), y(*device, std::vector<float>(8 * 32, poison));
  LaunchArguments arguments = {.tensors = {rows(x.data, 8, 32, 32), rows(y.data, 8, 32, 32)}};
  const int batches = 50, batch = 100;
  std::vector<double> costs;
  for (int i = 0; i < batches; ++i) {
    Result<std::unique_ptr<const Event>> begin = device->record({}, EventTime::measured);
    REQUIRE(begin);
    auto before = std::chrono::steady_clock::now();
    for (int j = 0; j < batch; ++j)
      require(device->launch(*program, arguments));
    std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - before;
    costs.push_back(elapsed.count() / batch);
    Result<std::unique_ptr<const Event>> end = device->record({}, EventTime::measured);
    REQUIRE(end);
    Result<double> milliseconds = device->elapsed(**begin, **end);
    REQUIRE(milliseconds);
    CHECK(*milliseconds > 0);
  }
  std::nth_element(costs.begin(), costs.begin() + batches / 2, costs.end());
  std::printf("a launch with a tensor map costs the host %.2f us (median of %d batches)\n",
              costs[batches / 2], batches);
  // Generous, because other work may share the machine.
  CHECK(costs[batches / 2] < 20);
}
