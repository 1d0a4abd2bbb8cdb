// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lays out tensors, calls, compares.
#include "test/unit/library/AttentionCall.h"

#include "kernels/Tolerance.h"
#include "kernels/harness/ElementBits.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/Expect.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tlc;
using namespace tlc::test;
using attention::ForwardOptions;
using kernels::Lengths;

namespace {

constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// Places of a block that no element of the slice is in have to be poisoned still.
void checkAround(const Slice &slice) {
  std::vector<bool> inside(slice.block->values.size());
  for (int64_t i = 0; i < slice.count(); ++i)
    inside[size_t(&slice.at(i) - slice.block->values.data())] = true;
  for (size_t i = 0; i < inside.size(); ++i)
    if (!inside[i] && !std::isnan(slice.block->values[i]))
      FAIL("a place outside of the tensor changed: " << i);
}

void compare(const Slice &actual, const std::vector<double> &expected, const kernels::Tolerance &tolerance,
             const char *name) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (double value = actual.at(int64_t(i)); !(errorOf(value, expected[i], tolerance) <= tolerance.limit))
      FAIL(name << ": element " << i << " is " << value << ", but " << expected[i] << " was expected");
}

} // namespace

Block::Block(Device &device, ElementType element, int64_t elements)
    : element(element), values(size_t(elements), notANumber), device(device),
      memory(expectValue(kernels::DeviceMemory::allocate(device, values.size() * sizeInBytes(element)))) {}

void Block::upload() {
  size_t size = sizeInBytes(element);
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i)
    kernels::storeElement(element, &bytes[i * size], values[i]);
  expectSuccess(device.copyToDevice(address(), bytes.data(), bytes.size()));
}

void Block::download() {
  size_t size = sizeInBytes(element);
  std::vector<std::byte> bytes(values.size() * size);
  expectSuccess(device.copyToHost(bytes.data(), address(), bytes.size()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = kernels::loadElement(element, &bytes[i * size]);
}

TensorView Slice::view() const {
  return {block->address() + first * sizeInBytes(block->element), block->element, shape, strides};
}

int64_t Slice::count() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

double &Slice::at(int64_t number) const {
  int64_t place = first;
  for (size_t axis = shape.size(); axis-- > 0; number /= shape[axis])
    place += number % shape[axis] * strides[axis];
  return block->values[size_t(place)];
}

std::vector<double> Slice::values() const {
  std::vector<double> all;
  for (int64_t i = 0; i < count(); ++i)
    all.push_back(at(i));
  return all;
}

void Slice::fill(kernels::Random &random) const {
  // Numbers that all element types hold.
  for (int64_t i = 0; i < count(); ++i)
    at(i) = double(int64_t(random() % 257) - 128) / 128;
}

void Slice::fill(const std::vector<int64_t> &numbers) const {
  for (int64_t i = 0; i < count(); ++i)
    at(i) = double(numbers[size_t(i)]);
}

Slice Slice::transposed(const std::vector<size_t> &order) const {
  Slice slice{block, first, {}, {}};
  for (size_t axis : order) {
    slice.shape.push_back(shape[axis]);
    slice.strides.push_back(strides[axis]);
  }
  return slice;
}

Slice Slice::part(size_t axis, int64_t begin, int64_t extent) const {
  Slice slice = *this;
  slice.first += begin * strides[axis];
  slice.shape[axis] = extent;
  return slice;
}

Slice test::newTensor(Device &device, ElementType element, const std::vector<int64_t> &shape, int64_t padding,
                      int64_t shift) {
  Slice slice{nullptr, shift, shape, std::vector<int64_t>(shape.size())};
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    slice.strides[axis] = stride;
    stride *= shape[axis];
    if (axis + 1 == shape.size())
      stride += padding;
  }
  slice.block = std::make_shared<Block>(device, element, shift + stride);
  return slice;
}

CallFixture::CallFixture() : random{Catch::rngSeed()} {}

CallFixture::CallFixture(std::string_view target)
    : device(createEmulatorDevice({.target = findTarget(target)})), random{Catch::rngSeed()} {}

Slice CallFixture::input(ElementType element, const std::vector<int64_t> &shape, int64_t padding) {
  Slice slice = newTensor(device, element, shape, padding);
  slice.fill(random);
  slice.block->upload();
  return slice;
}

Slice CallFixture::output(ElementType element, const std::vector<int64_t> &shape) {
  Slice slice = newTensor(device, element, shape);
  slice.block->upload();
  return slice;
}

kernels::Workspace CallFixture::workspace(const Result<size_t> &bytes) {
  INFO((bytes ? "" : bytes.error().message));
  REQUIRE(bool(bytes));
  if (*bytes == 0)
    return {};
  Result<void *> memory = device.allocate(*bytes);
  REQUIRE(bool(memory));
  return {*memory, *bytes};
}

void CallFixture::require(const Result<void> &done) {
  INFO((done ? "" : done.error().message));
  REQUIRE(bool(done));
}

static std::optional<TensorView> viewOf(const std::optional<Slice> &slice) {
  return slice ? std::optional(slice->view()) : std::nullopt;
}

attention::ForwardTensors CallTensors::views() const {
  return {.q = q.view(),
          .k = k.view(),
          .v = v.view(),
          .o = o.view(),
          .lse = lse.view(),
          .sink = viewOf(sink),
          .queryLengths = viewOf(queryLengths),
          .keyLengths = viewOf(keyLengths)};
}

attention::BackwardTensors GradientTensors::views() const {
  const attention::ForwardTensors before = forward.views();
  return {.q = before.q,
          .k = before.k,
          .v = before.v,
          .o = before.o,
          .lse = before.lse,
          .dO = dO.view(),
          .dq = dq.view(),
          .dk = dk.view(),
          .dv = dv.view(),
          .sink = before.sink,
          .dSink = viewOf(dSink),
          .queryLengths = before.queryLengths,
          .keyLengths = before.keyLengths};
}

kernels::AttentionShape test::shapeOf(const CallTensors &tensors, const ForwardOptions &options) {
  const std::vector<int64_t> &q = tensors.q.shape, &k = tensors.k.shape;
  kernels::AttentionShape shape{.problem = {.d = q.back(),
                                            .dv = tensors.v.shape.back(),
                                            .mask = options.mask,
                                            .scale = options.scale,
                                            .softCap = options.softCap,
                                            .logBase = options.logBase},
                                .h = q[q.size() - 2],
                                .hkv = k[k.size() - 2]};
  auto length = [](const std::optional<Slice> &lengths, int64_t i) { return int64_t(lengths->at(i)); };
  if (options.lengths == Lengths::packed) {
    for (int64_t i = 0; i + 1 < tensors.queryLengths->count(); ++i) {
      int64_t firstQuery = length(tensors.queryLengths, i), firstKey = length(tensors.keyLengths, i);
      shape.sequences.push_back({firstQuery, length(tensors.queryLengths, i + 1) - firstQuery, firstKey,
                                 length(tensors.keyLengths, i + 1) - firstKey});
    }
    return shape;
  }
  bool isPadded = options.lengths == Lengths::padded;
  for (int64_t i = 0; i < q[0]; ++i)
    shape.sequences.push_back({i * q[1], isPadded ? length(tensors.queryLengths, i) : q[1], i * k[1],
                               isPadded ? length(tensors.keyLengths, i) : k[1]});
  return shape;
}

void test::upload(const CallTensors &tensors) {
  for (const Slice *slice : {&tensors.q, &tensors.k, &tensors.v, &tensors.o, &tensors.lse})
    slice->block->upload();
  for (const std::optional<Slice> *slice : {&tensors.sink, &tensors.queryLengths, &tensors.keyLengths})
    if (*slice)
      (*slice)->block->upload();
}

void test::checkGradient(const Slice &actual, kernels::AttentionGradients &gradients,
                         std::vector<double> (kernels::AttentionGradients::*of)(std::span<const int64_t>),
                         double floor) {
  actual.block->download();
  checkAround(actual);
  std::vector<int64_t> elements(size_t(actual.count()));
  std::iota(elements.begin(), elements.end(), 0);
  std::vector<double> expected = (gradients.*of)(elements);
  const kernels::Tolerance tolerance{.limit = 8 * kernels::roundingError(ElementType::bf16), .floor = floor};
  for (int64_t i : elements) {
    INFO("element " << i << " is " << actual.at(i) << ", expected " << expected[size_t(i)]);
    REQUIRE(errorOf(actual.at(i), expected[size_t(i)], tolerance) <= tolerance.limit);
  }
}

void test::checkForward(CountingDevice &device, attention::Programs &programs, const CallTensors &tensors,
                        const ForwardOptions &options) {
  upload(tensors);
  size_t bytes = expectValue(workspaceSize(programs, tensors.views(), options));
  CHECK(bytes % workspaceAlignment == 0);
  Block workspace(device, ElementType::i8, int64_t(bytes) + 64);
  std::vector<std::byte> poison(bytes + 64, std::byte(0xFF));
  expectSuccess(device.copyToDevice(workspace.address(), poison.data(), poison.size()));

  int allocations = device.allocations, loads = device.loads, launches = device.launches;
  expectSuccess(forward(programs, {}, tensors.views(), {workspace.address(), bytes}, options));
  CHECK(device.allocations == allocations);
  CHECK(device.loads == loads);
  CHECK(device.launches == launches + 1);

  workspace.download();
  for (size_t i = bytes; i < workspace.values.size(); ++i)
    CHECK(workspace.values[i] == -1);
  checkOutputs(tensors, options);
}

void test::checkOutputs(const CallTensors &tensors, const ForwardOptions &options) {
  tensors.o.block->download();
  tensors.lse.block->download();
  checkAround(tensors.o);
  checkAround(tensors.lse);

  kernels::AttentionShape shape = shapeOf(tensors, options);
  std::vector<double> q = tensors.q.values(), k = tensors.k.values(), v = tensors.v.values(), sink;
  if (tensors.sink)
    sink = tensors.sink->values();
  std::vector<int64_t> elements(size_t(tensors.o.count()));
  std::iota(elements.begin(), elements.end(), 0);
  compare(tensors.o, referenceAttention(shape, q, k, v, sink, elements),
          {.limit = 2 * kernels::roundingError(tensors.o.block->element), .floor = 0.5}, "o");
  elements.resize(size_t(tensors.lse.count()));
  compare(
      tensors.lse,
      referenceLogSumExp(shape, q, k, sink, kernels::linesOf(elements, shape.h, tensors.lse.shape.back())),
      {.limit = 1e-5, .floor = 1}, "lse");
}
