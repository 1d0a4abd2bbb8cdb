// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a launch takes of the host's time: by the driver alone, as a prepared launch, with all checks,
/// through the C interface, and on objects as calls from Python make it. The kernel has eight tensors, three
/// of them with tensor maps, and returns at once.
///
///     launch_bench [--json] [--rounds N]
#include "runtime/artifact/Serialize.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/cuda/CudaStreams.h"
#include "runtime/cuda/TensorMap.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/support/Math.h"
#include "test/unit/libtlc/Interpreter.h"
#include "tools/libtlc/tlc.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <random>
#include <span>
#include <string_view>

using namespace tlc;

namespace {

constexpr int64_t rows = 128, columns = 64;
constexpr int launchesOfRound = 200; // far fewer than the driver's queue has room for
constexpr size_t tensors = 8, mapped = 3;
/// Tensors that move do so by steps of this many bytes.
constexpr size_t step = 256, steps = 4096;

constexpr std::string_view ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry eight(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .align 64 .b8 c[128],
                      .param .u64 d, .param .u64 dStride, .param .u64 e, .param .u64 eStride,
                      .param .u64 f, .param .u64 fStride, .param .u64 g, .param .u64 gStride,
                      .param .u64 h, .param .u64 hStride, .param .u32 m, .param .u32 n)
{
  ret;
}
)";

Artifact eightTensors() {
  using Kind = KernelParameter::Kind;
  Artifact artifact = {.name = "eight", .target = "sm_90a", .dimensions = {{.name = "m"}, {.name = "n"}}};
  Launch launch = {.entry = "eight",
                   .grid = {HostExpr::constant(1), HostExpr::constant(1), HostExpr::constant(1)},
                   .threads = 32};
  for (size_t i = 0; i < tensors; ++i) {
    const auto index = int64_t(i);
    const bool written = i == mapped - 1 || i == tensors - 1;
    artifact.tensors.push_back({.name = std::string(1, char('a' + i)),
                                .element = ElementType::bf16,
                                .access = written ? Access::output : Access::input,
                                .shape = {{.dimension = 0}, {.dimension = 1}},
                                .alignment = 16});
    if (i < mapped) {
      launch.tensorMaps.push_back({.tensor = index, .box = {64, 64}, .swizzle = Swizzle::bytes128});
      launch.parameters.push_back({.kind = Kind::tensorMap, .index = index});
    } else {
      launch.parameters.push_back({.kind = Kind::tensorPointer, .index = index});
      launch.parameters.push_back({.kind = Kind::tensorStride, .index = index, .axis = 0});
    }
  }
  for (int64_t dimension : {0, 1})
    launch.parameters.push_back({.kind = Kind::dimension, .index = dimension});
  artifact.variants = {{.name = "general", .launches = {std::move(launch)}, .ptx = std::string(ptx)}};
  return artifact;
}

[[noreturn]] void fail(std::string_view what) {
  fmt::print(stderr, "launch_bench: {}\n", what);
  std::exit(1);
}

void require(const Result<void> &done) {
  if (!done)
    fail(done.error().message);
}
template <class T> T require(Result<T> made) {
  if (!made)
    fail(made.error().message);
  return std::move(*made);
}
void requireC(bool done) {
  if (!done)
    fail(tlc_last_error());
}

/// The tensors in one allocation, each with room to move.
LaunchArguments makeArguments(Device &device) {
  const size_t bytes = rows * columns * sizeof(uint16_t), room = bytes + step * steps;
  auto *memory = static_cast<std::byte *>(require(device.allocate(tensors * room)));
  LaunchArguments arguments;
  for (size_t i = 0; i < tensors; ++i)
    arguments.tensors.push_back(contiguousView(memory + i * room, ElementType::bf16, {rows, columns}));
  return arguments;
}

/// The driver's call with parameters that are ready.
class RawLaunch {
public:
  RawLaunch(const CudaContext &cuda, const CudaProgram &program, const LaunchArguments &arguments,
            const DeviceProperties &device, CUstream stream)
      : cuda(cuda), plan(require(planLaunch(program.artifact(), arguments, device))),
        function(program.function(plan.variantIndex, 0)) {
    PlannedLaunch &planned = plan.launches.front();
    for (const PlannedTensorMap &map : planned.tensorMaps)
      if (CUresult status =
              encodeTensorMap(cuda.driver, map.values, map.values.address, &planned.parameters[map.offset]);
          status != CUDA_SUCCESS)
        fail(cuda.driver.describe(status));
    size_t offset = 0;
    for (const KernelParameter &parameter : planned.launch->parameters) {
      offset = alignTo(offset, parameterAlignment(program.artifact(), parameter));
      parameters.push_back(&planned.parameters[offset]);
      offset += parameterBytes(program.artifact(), parameter);
    }
    config = {.gridDimX = planned.grid[0],
              .gridDimY = planned.grid[1],
              .gridDimZ = planned.grid[2],
              .blockDimX = planned.launch->threads,
              .blockDimY = 1,
              .blockDimZ = 1,
              .sharedMemBytes = planned.launch->sharedBytes,
              .hStream = stream,
              .attrs = nullptr,
              .numAttrs = 0};
  }
  RawLaunch(const RawLaunch &) = delete; // the parameters point into it

  Result<void> operator()() {
    if (CUresult status = cuda.driver.cuLaunchKernelEx(&config, function, parameters.data(), nullptr);
        status != CUDA_SUCCESS)
      return cuda.error(status, "cannot launch");
    return {};
  }

private:
  const CudaContext &cuda;
  LaunchPlan plan;
  CUfunction function;
  std::vector<void *> parameters;
  CUlaunchConfig config = {};
};

/// The same program and tensors in C.
class CLaunch {
public:
  CLaunch(const Artifact &artifact, const LaunchArguments &arguments, void *stream) : stream(stream) {
    const std::vector<std::byte> bytes = serialize(artifact);
    requireC(program = tlc_program_load(nullptr, bytes.data(), bytes.size()));
    for (const TensorView &tensor : arguments.tensors)
      views.push_back({tensor.data, TLC_BF16, 2, tensor.shape.data(), tensor.strides.data()});
    requireC(bound = tlc_bind(program, views.data(), int(views.size()), nullptr, 0, nullptr, 0));
  }
  CLaunch(const CLaunch &) = delete;
  ~CLaunch() {
    tlc_bound_release(bound);
    tlc_release(program);
  }

  static Result<void> toResult(int status) {
    return status == TLC_OK ? Result<void>() : Error{.message = tlc_last_error()};
  }
  Result<void> launch() const {
    return toResult(tlc_launch(program, views.data(), int(views.size()), nullptr, 0, nullptr, 0, stream));
  }
  /// With the first tensors elsewhere.
  Result<void> launchMoved(std::span<void *const> addresses) {
    for (size_t i = 0; i < addresses.size(); ++i)
      views[i].data = addresses[i];
    return launch();
  }
  Result<void> launchBound() const { return toResult(tlc_bound_launch(bound, stream)); }
  Result<void> launchBoundMoved(std::span<void *const> addresses) const {
    if (Result<void> set =
            toResult(tlc_bound_set_addresses(bound, 0, addresses.data(), int(addresses.size())));
        !set)
      return set;
    return launchBound();
  }

private:
  void *stream;
  tlc_program *program = nullptr;
  tlc_bound *bound = nullptr;
  std::vector<tlc_tensor> views;
};

/// The same as a call from Python makes it, without an interpreter and without tensors that are made.
class ExchangeLaunch {
public:
  ExchangeLaunch(const Artifact &artifact, const LaunchArguments &arguments, void *onStream) {
    stream = onStream;
    const std::vector<std::byte> bytes = serialize(artifact);
    requireC(program = tlc_program_load(nullptr, bytes.data(), bytes.size()));
    std::vector<tlc_tensor> views;
    std::vector<int32_t> sources;
    for (const TensorView &tensor : arguments.tensors) {
      sources.push_back(int32_t(views.size()));
      views.push_back({tensor.data, TLC_BF16, 2, tensor.shape.data(), tensor.strides.data()});
      objects.push_back({&test::tensorType,
                         {tensor.data, {dlpack::cuda, 0}, 2, {4, 16, 1}, shape.data(), strides.data(), 0}});
    }
    for (test::Object &object : objects)
      given.items.push_back(&object);
    const tlc_exchange_options options = {sizeof(options), &api, &types, &given, &made, sources.data()};
    requireC(exchange = tlc_exchange_create(program, views.data(), int(views.size()), nullptr, 0, &options));
  }
  ExchangeLaunch(const ExchangeLaunch &) = delete;
  ~ExchangeLaunch() {
    tlc_exchange_release(exchange);
    tlc_release(program);
  }

  Result<void> operator()() { return CLaunch::toResult(tlc_exchange_launch(exchange, &given, &made)); }
  Result<void> launchMoved(std::span<void *const> addresses) {
    for (size_t i = 0; i < addresses.size(); ++i)
      objects[i].tensor.data = addresses[i];
    return (*this)();
  }

private:
  static int describe(void *object, dlpack::Tensor *tensor) {
    *tensor = static_cast<test::Object *>(object)->tensor;
    return 0;
  }
  static int currentStream(int32_t, int32_t, void **current) {
    *current = stream;
    return 0;
  }
  static int allocate(dlpack::Tensor *, dlpack::ManagedTensor **, void *,
                      void (*)(void *, const char *, const char *)) {
    return -1; // the kernel has no workspace
  }
  static dlpack::ExchangeApi makeApi() {
    dlpack::ExchangeApi made = {};
    made.version = {1, 3};
    made.describe = describe, made.currentStream = currentStream, made.allocate = allocate;
    return made;
  }

  static inline void *stream = nullptr;
  const dlpack::ExchangeApi api = makeApi();
  std::array<int64_t, 2> shape = {rows, columns}, strides = {columns, 1};
  std::vector<test::Object> objects;
  test::Object given, made, types{nullptr, {}, {&test::tensorType}};
  tlc_program *program = nullptr;
  tlc_exchange *exchange = nullptr;
};

struct Contestant {
  std::string_view name, description;
  std::function<Result<void>()> launch;
  std::vector<double> microseconds = {}; ///< per launch, of each round
};

struct Quartiles {
  double first, median, third;
};
Quartiles quartilesOf(std::vector<double> values) {
  std::ranges::sort(values);
  auto at = [&](double share) { return values[size_t(share * double(values.size() - 1) + 0.5)]; };
  return {at(0.25), at(0.5), at(0.75)};
}

/// Of each round, so that the clock of the host changes both.
Quartiles differencesOf(const Contestant &contestant, const Contestant &raw) {
  std::vector<double> differences;
  for (size_t round = 0; round < raw.microseconds.size(); ++round)
    differences.push_back(contestant.microseconds[round] - raw.microseconds[round]);
  return quartilesOf(std::move(differences));
}

void measure(Contestant &contestant, Device &device, Stream stream) {
  require(device.synchronize(stream)); // the queue is empty
  const auto begin = std::chrono::steady_clock::now();
  for (int launch = 0; launch < launchesOfRound; ++launch)
    require(contestant.launch());
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
  contestant.microseconds.push_back(taken.count() / launchesOfRound);
}

void print(const std::vector<Contestant> &contestants, std::string_view device, bool asJson) {
  if (!asJson)
    fmt::print("{}: microseconds of the host per launch, median [quartiles] of {} rounds of {} launches\n",
               device, contestants.front().microseconds.size(), launchesOfRound);
  for (const Contestant &contestant : contestants) {
    const Quartiles taken = quartilesOf(contestant.microseconds),
                    over = differencesOf(contestant, contestants.front());
    if (asJson)
      fmt::print(R"({{"launch": "{}", "us": {:.3f}, "quartiles": [{:.3f}, {:.3f}], "over_raw_us": {:.3f}, )"
                 R"("over_raw_quartiles": [{:.3f}, {:.3f}], "rounds": {}, "launches": {}, "device": "{}"}})"
                 "\n",
                 contestant.name, taken.median, taken.first, taken.third, over.median, over.first, over.third,
                 contestant.microseconds.size(), launchesOfRound, device);
    else
      fmt::print("{:<46} {:6.2f} [{:5.2f}, {:5.2f}]   over raw {:6.2f} [{:5.2f}, {:5.2f}]\n",
                 contestant.description, taken.median, taken.first, taken.third, over.median, over.first,
                 over.third);
  }
}

void run(Device &device, int rounds, bool asJson) {
  const std::shared_ptr<const CudaContext> cuda = require(CudaContext::create(device.properties().ordinal));
  const CurrentContext current(*cuda);
  const std::unique_ptr<OwnedStream> owned = require(device.createStream());
  const Stream stream = *owned;

  const Artifact artifact = eightTensors();
  const std::shared_ptr<const LoadedProgram> program = require(device.load(artifact));
  const LaunchArguments arguments = makeArguments(device);
  RawLaunch raw(*cuda, static_cast<const CudaProgram &>(*program), arguments, device.properties(),
                asStream(stream));
  const std::unique_ptr<PreparedLaunch> same = require(device.prepare(*program, arguments)),
                                        moved = require(device.prepare(*program, arguments));
  const CLaunch c(artifact, arguments, stream.handle);
  CLaunch cMoved(artifact, arguments, stream.handle);
  size_t number = 0;
  auto nextAddresses = [&] {
    ++number;
    std::array<void *, mapped> addresses;
    for (size_t i = 0; i < mapped; ++i)
      addresses[i] = static_cast<std::byte *>(arguments.tensors[i].data) + number % steps * step;
    return addresses;
  };
  auto launchMoved = [&]() -> Result<void> {
    if (Result<void> set = moved->setAddresses(0, nextAddresses()); !set)
      return set;
    return moved->enqueue(stream);
  };
  ExchangeLaunch exchange(artifact, arguments, stream.handle),
      exchangeMoved(artifact, arguments, stream.handle);
  std::vector<Contestant> contestants = {
      {"raw", "cuLaunchKernelEx, parameters ready", std::ref(raw)},
      {"prepared", "PreparedLaunch, same addresses", [&] { return same->enqueue(stream); }},
      {"moved", "PreparedLaunch, three new addresses, with maps", launchMoved},
      {"checked", "Device::launch, all checks", [&] { return device.launch(*program, arguments, stream); }},
      {"c_bound", "tlc_bound_launch, same addresses", [&] { return c.launchBound(); }},
      {"c_bound_moved", "tlc_bound_launch, three new addresses",
       [&] { return cMoved.launchBoundMoved(nextAddresses()); }},
      {"c_checked", "tlc_launch, all checks", [&] { return c.launch(); }},
      {"c_moved", "tlc_launch, all checks, three new addresses",
       [&] { return cMoved.launchMoved(nextAddresses()); }},
      {"exchange", "tlc_exchange_launch, same addresses", std::ref(exchange)},
      {"exchange_moved", "tlc_exchange_launch, three new addresses",
       [&] { return exchangeMoved.launchMoved(nextAddresses()); }}};

  for (Contestant &contestant : contestants) {
    measure(contestant, device, stream); // not counted
    contestant.microseconds.clear();
  }
  std::vector<size_t> order(contestants.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (size_t i : order)
      measure(contestants[i], device, stream);
  }
  require(device.synchronize(stream));
  print(contestants, device.properties().name, asJson);
}

} // namespace

int main(int count, char **arguments) {
  bool asJson = false;
  int rounds = 101;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--json") {
      asJson = true;
      continue;
    }
    const std::string_view value = argument == "--rounds" && i + 1 < count ? arguments[++i] : "";
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), rounds);
    if (error != std::errc() || end != value.data() + value.size() || rounds < 1)
      fail(fmt::format("expected '--json' and '--rounds N' with N >= 1, but got '{}'", argument));
  }
  Result<std::unique_ptr<Device>> device = createCudaDevice(0);
  if (!device) {
    fmt::print("launch_bench: nothing is measured without a GPU: {}\n", device.error().message);
    return 0;
  }
  run(**device, rounds, asJson);
  return 0;
}
