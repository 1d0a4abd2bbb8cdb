// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls of attention on tensors whose memory the test lays out, on a device that counts what it is asked
/// for.
#pragma once

#include "kernels/harness/DeviceArguments.h"
#include "kernels/library/Backward.h"
#include "kernels/reference/AttentionGradients.h"
#include "runtime/device/Device.h"

#include <memory>
#include <optional>
#include <vector>

namespace tlc::test {

/// What this program tests on, of sm_90a; with grids for some of its multiprocessors, or for all.
std::unique_ptr<Device> openDevice(std::optional<int> multiprocessors = {});

class CountingDevice : public Device {
public:
  explicit CountingDevice(std::unique_ptr<Device> device = openDevice()) : device(std::move(device)) {}

  const DeviceProperties &properties() const override { return device->properties(); }
  Result<void *> allocate(size_t bytes, std::optional<Stream> on = {}) override {
    ++allocations;
    return device->allocate(bytes, on);
  }
  Result<void> free(void *address, std::optional<Stream> on = {}) override {
    return device->free(address, on);
  }
  Result<void *> allocateHost(size_t bytes) override { return device->allocateHost(bytes); }
  Result<void> freeHost(void *address) override { return device->freeHost(address); }
  Result<void> copyToDevice(void *target, const void *host, size_t bytes,
                            std::optional<Stream> on = {}) override {
    return device->copyToDevice(target, host, bytes, on);
  }
  Result<void> copyToHost(void *host, const void *source, size_t bytes,
                          std::optional<Stream> on = {}) override {
    return device->copyToHost(host, source, bytes, on);
  }
  Result<std::shared_ptr<const LoadedProgram>> load(Artifact artifact) override {
    ++loads;
    return device->load(std::move(artifact));
  }
  Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &program,
                                                  const LaunchArguments &arguments) override {
    ++launches;
    return device->prepare(program, arguments);
  }
  Result<void> synchronize(Stream stream) override { return device->synchronize(stream); }
  Result<void> clear(void *address, size_t bytes, Stream stream) override {
    return device->clear(address, bytes, stream);
  }
  Result<std::unique_ptr<OwnedStream>> createStream() override { return device->createStream(); }
  Result<std::unique_ptr<const Event>> record(Stream stream, EventTime time) override {
    return device->record(stream, time);
  }
  Result<double> elapsed(const Event &from, const Event &to) override { return device->elapsed(from, to); }
  Result<void> wait(const Event &event, Stream stream) override { return device->wait(event, stream); }
  Result<std::unique_ptr<Graph>> capture(Stream stream,
                                         const std::function<Result<void>()> &enqueue) override {
    return device->capture(stream, enqueue);
  }
  Result<bool> isCaptured(Stream stream) override { return device->isCaptured(stream); }
  Result<void> enablePeerAccess(Device &peer) override { return device->enablePeerAccess(peer); }
  Result<void> copyFromPeer(void *destination, Device &source, const void *address, size_t bytes) override {
    return device->copyFromPeer(destination, source, address, bytes);
  }

  int allocations = 0, loads = 0, launches = 0;

private:
  std::unique_ptr<Device> device;
};

/// Memory of a device that tensors lie in; NaN where none does.
class Block {
public:
  Block(Device &device, ElementType element, int64_t elements);
  void upload();
  void download();

  const ElementType element;
  std::vector<double> values;
  std::byte *address() const { return static_cast<std::byte *>(memory.address()); }

private:
  Device &device;
  kernels::DeviceMemory memory;
};

/// A tensor in a block.
struct Slice {
  std::shared_ptr<Block> block;
  int64_t first = 0;
  std::vector<int64_t> shape, strides;

  TensorView view() const;
  int64_t count() const;
  /// Elements in row-major order.
  double &at(int64_t number) const;
  std::vector<double> values() const;
  void fill(kernels::Random &random) const;
  void fill(const std::vector<int64_t> &numbers) const;
  /// The same memory with its axes in another order: axis i is the one that was `order[i]`.
  Slice transposed(const std::vector<size_t> &order) const;
  /// `extent` rows along an axis, from `begin`.
  Slice part(size_t axis, int64_t begin, int64_t extent) const;
};

/// In memory of its own, with `padding` elements after each row and `shift` before the first.
Slice newTensor(Device &device, ElementType element, const std::vector<int64_t> &shape, int64_t padding = 0,
                int64_t shift = 0);

/// A device, programs and random tensors on it, for calls of any kernel.
struct CallFixture {
  CountingDevice device;
  kernels::ArtifactCache artifacts;
  kernels::Programs programs{device, artifacts};
  kernels::Random random;

  CallFixture();
  /// On the emulator.
  explicit CallFixture(std::string_view target);
  /// With random elements, uploaded.
  Slice input(ElementType element, const std::vector<int64_t> &shape, int64_t padding = 0);
  /// With NaN, uploaded.
  Slice output(ElementType element, const std::vector<int64_t> &shape);
  /// Memory of the size that a call asked for; fails the running test if it did not say.
  kernels::Workspace workspace(const Result<size_t> &bytes);
  static void require(const Result<void> &done);
};

/// The tensors of a call.
struct CallTensors {
  Slice q, k, v, o, lse;
  std::optional<Slice> sink = {}, queryLengths = {}, keyLengths = {};

  attention::ForwardTensors views() const;
};

/// The tensors of a call of backward, and of the call of forward before it.
struct GradientTensors {
  CallTensors forward;
  Slice dO, dq, dk, dv;
  std::optional<Slice> dSink = {};

  attention::BackwardTensors views() const;
};

/// What has to come out: rows of Q and K are counted over all batches.
kernels::AttentionShape shapeOf(const CallTensors &tensors, const attention::ForwardOptions &options);

/// From the test's copies of inputs and outputs to the device.
void upload(const CallTensors &tensors);
/// Compares the device's outputs with the reference; fails the running test where they differ, and where a
/// place outside of them changed.
void checkOutputs(const CallTensors &tensors, const attention::ForwardOptions &options);
/// Compares the device's gradient with one of the reference's, errors relative to `floor` at least; fails the
/// running test where they differ, and where a place outside of the tensor changed.
void checkGradient(const Slice &actual, kernels::AttentionGradients &gradients,
                   std::vector<double> (kernels::AttentionGradients::*of)(std::span<const int64_t>),
                   double floor);
/// Calls forward with exactly the workspace that it asks for, poisoned, and checks outputs; fails the running
/// test where something was allocated, too.
void checkForward(CountingDevice &device, attention::Programs &programs, const CallTensors &tensors,
                  const attention::ForwardOptions &options);

} // namespace tlc::test
