// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs kernels on the emulator.
#include "test/unit/lowering/KernelRun.h"

#include "compiler/pipeline/Compiler.h"
#include "kernels/harness/ElementBits.h"
#include "runtime/device/Device.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/Expect.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>

using namespace tlc;
using namespace tlc::test;

namespace {
std::string textOf(const std::vector<Diagnostic> &diagnostics) {
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics)
    if (diagnostic.severity == Diagnostic::Severity::error)
      text += toString(diagnostic) + "\n";
  return text;
}

/// A tensor in device memory; what lies between its rows keeps a pattern.
class DeviceTensor {
public:
  DeviceTensor(Device &device, HostTensor &host) : device(device), host(host) {
    size = sizeInBytes(host.element);
    pitch = host.rowPitch ? host.rowPitch : host.shape.back();
    rows = host.elements() / std::max<int64_t>(1, host.shape.back());
    bytes.assign(size_t(rows * pitch) * size, gap);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < host.shape.back(); ++column) {
        uint64_t bits = kernels::encodeElement(host.element, host.at(row, column));
        std::memcpy(&bytes[offset(row, column)], &bits, size);
      }
    address = expectValue(device.allocate(bytes.size()));
    expectSuccess(device.copyToDevice(address, bytes.data(), bytes.size()));
  }
  ~DeviceTensor() { (void)device.free(address); }

  TensorView view() const {
    std::vector<int64_t> strides(host.shape.size(), 1);
    int64_t stride = pitch;
    for (size_t axis = host.shape.size() - 1; axis-- > 0; stride *= host.shape[axis])
      strides[axis] = stride;
    return {address, host.element, host.shape, strides};
  }

  void fetch() {
    expectSuccess(device.copyToHost(bytes.data(), address, bytes.size()));
    int64_t overwritten = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < pitch; ++column) {
        if (column >= host.shape.back()) {
          for (size_t i = 0; i < size; ++i)
            overwritten += bytes[offset(row, column) + i] != gap;
          continue;
        }
        uint64_t bits = 0;
        std::memcpy(&bits, &bytes[offset(row, column)], size);
        host.at(row, column) = kernels::decodeElement(host.element, bits);
      }
    CHECK(overwritten == 0);
  }

private:
  static constexpr uint8_t gap = 0xA5;
  size_t offset(int64_t row, int64_t column) const { return size_t(row * pitch + column) * size; }

  Device &device;
  HostTensor &host;
  size_t size = 0;
  int64_t pitch = 0, rows = 0;
  std::vector<uint8_t> bytes;
  void *address = nullptr;
};
} // namespace

CompileOptions test::fromPlanned() {
  CompileOptions options;
  options.startFrom = Phase::planned;
  return options;
}

int64_t HostTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

HostTensor test::randomTensor(ElementType element, std::vector<int64_t> shape, std::mt19937 &random) {
  HostTensor tensor = poisoned(element, std::move(shape));
  std::uniform_int_distribution<int> values(isUnsigned(element) ? 0 : -4, 4);
  for (double &value : tensor.values)
    value = values(random);
  return tensor;
}

HostTensor test::poisoned(ElementType element, std::vector<int64_t> shape) {
  HostTensor tensor{element, std::move(shape), 0, {}};
  tensor.values.assign(size_t(tensor.elements()), poison);
  return tensor;
}

namespace {
/// The program, which is compiled once in a process.
const Artifact &compiled(const std::string &module, const CompileOptions &options) {
  static std::map<std::tuple<std::string, std::string, Phase>, Artifact> programs;
  const std::tuple key(module, fingerprint(options), options.startFrom);
  if (auto found = programs.find(key); found != programs.end())
    return found->second;
  Compiler compiler(options);
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  mlir::OwningOpRef<mlir::ModuleOp> parsed = compiler.parse(module, "test.mlir", context.get());
  INFO(textOf(compiler.diagnostics()));
  INFO(module);
  REQUIRE(bool(parsed));
  mlir::FailureOr<Artifact> artifact = compiler.compile(*parsed, "test");
  INFO(textOf(compiler.diagnostics()));
  REQUIRE(mlir::succeeded(artifact));
  return programs.emplace(key, std::move(*artifact)).first->second;
}
} // namespace

std::string test::runErrors(const std::string &module, std::vector<HostTensor *> tensors,
                            const CompileOptions &options) {
  std::unique_ptr<Device> device =
      createEmulatorDevice({.multiprocessors = 3, .raceCheck = RaceCheck::strict});
  std::shared_ptr<const LoadedProgram> program = expectValue(device->load(compiled(module, options)));
  std::vector<std::unique_ptr<DeviceTensor>> buffers;
  LaunchArguments arguments;
  for (HostTensor *tensor : tensors) {
    buffers.push_back(std::make_unique<DeviceTensor>(*device, *tensor));
    arguments.tensors.push_back(buffers.back()->view());
  }
  Result<void> ran = device->launch(*program, arguments);
  if (ran)
    ran = device->synchronize();
  if (!ran)
    return ran.error().message;
  for (std::unique_ptr<DeviceTensor> &buffer : buffers)
    buffer->fetch();
  return "";
}

void test::runKernels(const std::string &module, std::vector<HostTensor *> tensors,
                      const CompileOptions &options) {
  REQUIRE(runErrors(module, std::move(tensors), options) == "");
}

std::string test::compileErrors(const std::string &module) {
  Compiler compiler(fromPlanned());
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  mlir::OwningOpRef<mlir::ModuleOp> parsed = compiler.parse(module, "test.mlir", context.get());
  if (parsed)
    (void)compiler.compile(*parsed, "test");
  return textOf(compiler.diagnostics());
}

std::string test::fragment(std::vector<int64_t> shape, const std::string &element,
                           const FragmentLayout &layout) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ", #tile.layout<\"" + printLayout(layout) + "\">>";
}

namespace {
std::string sharedType(std::vector<int64_t> shape, const std::string &element, const SharedLayout &layout,
                       const std::string &mark) {
  std::string text = "!tile.shared<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ", #tile.shared_layout<\"" + printSharedLayout(layout) + "\">" + mark + ">";
}
} // namespace

std::string test::shared(const SharedLayout &layout, const std::string &element, int64_t slots) {
  std::vector<int64_t> shape = layout.shape();
  if (slots)
    shape.insert(shape.begin(), slots);
  return sharedType(shape, element, layout, "");
}

std::string test::transposedShared(const SharedLayout &layout, const std::string &element) {
  std::vector<int64_t> shape = layout.shape();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return sharedType(shape, element, layout, ", transposed");
}

std::string test::substitute(std::string text,
                             const std::vector<std::pair<std::string, std::string>> &values) {
  for (auto &[name, value] : values)
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
      text.replace(at, name.size(), value);
  return text;
}
