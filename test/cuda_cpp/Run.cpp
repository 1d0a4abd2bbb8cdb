// SPDX-License-Identifier: Apache-2.0
#include "test/cuda_cpp/Run.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/EmulatorDevice.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>

namespace tlc::test {
namespace {

void require(const Result<void> &result) {
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
}

Artifact artifactOf(const CudaKernel &kernel, std::string ptx) {
  using Kind = KernelParameter::Kind;
  Artifact artifact = {.name = "kernel", .target = "sm_90a"};
  Launch launch = {.entry = "k", .threads = kernel.threads, .sharedBytes = kernel.sharedBytes};
  launch.grid = {HostExpr::constant(kernel.blocks), HostExpr::constant(1), HostExpr::constant(1)};
  launch.cluster = {kernel.cluster, 1, 1};
  for (size_t i = 0; i < kernel.arrays.size(); ++i) {
    const auto box = std::ranges::find(kernel.boxes, int64_t(i), &Box::array);
    TensorArgument tensor = {
        .name = "array" + std::to_string(i), .element = ElementType::i8, .access = Access::inout};
    if (box == kernel.boxes.end()) {
      tensor.shape = {{.constant = int64_t(kernel.arrays[i].size())}};
    } else {
      tensor.element = box->element;
      tensor.shape = {{.constant = box->rows}, {.constant = box->columns}};
    }
    artifact.tensors.push_back(std::move(tensor));
    launch.parameters.push_back({.kind = Kind::tensorPointer, .index = int64_t(i)});
  }
  for (size_t i = 0; i < kernel.integers.size(); ++i) {
    artifact.scalars.push_back({.name = "integer" + std::to_string(i), .element = ElementType::i32});
    launch.parameters.push_back({.kind = Kind::scalar, .index = int64_t(i)});
  }
  for (const Box &box : kernel.boxes) {
    launch.parameters.push_back({.kind = Kind::tensorMap, .index = int64_t(launch.tensorMaps.size())});
    launch.tensorMaps.push_back(
        {.tensor = box.array, .box = {box.boxRows, box.boxColumns}, .swizzle = box.swizzle});
  }
  artifact.variants.push_back({.name = "only", .launches = {launch}, .ptx = std::move(ptx)});
  return artifact;
}

std::vector<Bytes> runOn(Device &device, const CudaKernel &kernel, const Artifact &artifact) {
  auto program = device.load(artifact);
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  LaunchArguments arguments;
  for (size_t i = 0; i < kernel.arrays.size(); ++i) {
    const Bytes &bytes = kernel.arrays[i];
    Result<void *> memory = device.allocate(bytes.size());
    REQUIRE(memory);
    require(device.copyToDevice(*memory, bytes.data(), bytes.size()));
    const TensorArgument &tensor = artifact.tensors[i];
    TensorView view = {*memory, tensor.element, {}, {}};
    for (const Extent &extent : tensor.shape)
      view.shape.push_back(extent.constant);
    view.strides = view.shape.size() == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{view.shape[1], 1};
    arguments.tensors.push_back(std::move(view));
  }
  for (int32_t value : kernel.integers)
    arguments.scalars.push_back({ElementType::i32, uint32_t(value)});
  require(device.launch(**program, arguments));
  require(device.synchronize());
  std::vector<Bytes> results;
  for (size_t i = 0; i < kernel.arrays.size(); ++i) {
    Bytes &bytes = results.emplace_back(kernel.arrays[i].size());
    require(device.copyToHost(bytes.data(), arguments.tensors[i].data, bytes.size()));
    require(device.free(arguments.tensors[i].data));
  }
  return results;
}

void requireEqual(const std::vector<Bytes> &first, const std::vector<Bytes> &second, double tolerance) {
  for (size_t i = 0; i < first.size(); ++i) {
    INFO("array " << i);
    if (tolerance == 0) {
      const auto [here, there] = std::ranges::mismatch(first[i], second[i]);
      INFO("first different byte: " << here - first[i].begin());
      CHECK(here == first[i].end());
      continue;
    }
    const auto here = valuesOf<float>(first[i]), there = valuesOf<float>(second[i]);
    double worst = 0;
    for (size_t at = 0; at < here.size(); ++at)
      worst = std::max(worst, std::abs(double(here[at]) - there[at]));
    CHECK(worst <= tolerance);
  }
}

} // namespace

std::string gpuName() {
  auto gpu = createCudaDevice(0);
  return gpu ? (*gpu)->properties().name : "";
}

std::vector<Run> runEach(const CudaKernel &kernel) {
  std::string source;
  for (std::string_view header : kernel.headers)
    source += fmt::format("#include <{}>\n", header);
  source += kernel.source;
  std::vector<Run> runs;
  for (Translation translation : {Translation::optimized, Translation::debug}) {
    const std::string how = translation == Translation::debug ? "translated for a debugger" : "optimised";
    Result<std::string> ptx = translate(source, translation);
    INFO(how << (ptx ? "" : ptx.error().message));
    REQUIRE(ptx);
    const Artifact artifact = artifactOf(kernel, std::move(*ptx));
    Run &emulated = runs.emplace_back(Run{how + ", on the emulator"});
    EmulatorOptions options;
    options.raceCheck = kernel.raceCheck;
    options.print = [&](std::string_view text) { emulated.printed += text; };
    emulated.arrays = runOn(*createEmulatorDevice(std::move(options)), kernel, artifact);
    if (auto gpu = createCudaDevice(0))
      runs.push_back({how + ", on a GPU", runOn(**gpu, kernel, artifact), emulated.printed});
  }
  return runs;
}

std::vector<Bytes> run(const CudaKernel &kernel, double tolerance) {
  const std::vector<Run> runs = runEach(kernel);
  for (const Run &other : std::span(runs).subspan(1)) {
    INFO(runs[0].how << ", and " << other.how);
    requireEqual(runs[0].arrays, other.arrays, tolerance);
    CHECK(runs[0].printed == other.printed);
  }
  if (kernel.printed)
    *kernel.printed = runs[0].printed;
  return runs[0].arrays;
}

} // namespace tlc::test
