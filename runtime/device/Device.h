// SPDX-License-Identifier: Apache-2.0
/// \file
/// The interface both devices implement: `cuda` (an NVIDIA GPU through its
/// driver) and `emulator` (the CPU executes the same PTX). Same calls, same
/// artifact, same argument checks.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/ProgramCode.h"
#include "runtime/support/Result.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tlc {

/// A tensor passed to a launch. `data` is an address of the device's memory.
/// `strides` are in elements, outermost first; the last must be 1 (any value
/// where the extent is 0 or 1) unless the program takes any.
struct TensorView {
  void *data = nullptr;
  ElementType element = ElementType::f32;
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};
  /// Of a symmetric tensor: its address on each rank, as this device reaches it. `data` is this rank's.
  std::vector<void *> ofRanks = {};
  /// Of a symmetric tensor: the address by which NVLink multicast reaches it on all ranks; null: there is
  /// none. Only kernels that use it need it. Emulated devices have one of their own, whatever is given.
  void *ofAll = nullptr;
};

/// A scalar argument, in the bits of its element type (low bytes first).
struct ScalarValue {
  ElementType element = ElementType::f32;
  uint64_t bits = 0;
  bool operator==(const ScalarValue &) const = default;
};

/// Everything one launch needs. Tensors and scalars in the artifact's order;
/// workspaces are the trailing tensors.
struct LaunchArguments {
  std::vector<TensorView> tensors = {};
  std::vector<ScalarValue> scalars = {};
  /// Which of how many launches of the program this is. Of several, `launch` does not clear symmetric
  /// workspaces, which other ranks may write by then: `launchRanks` does (runtime/device/LaunchRanks.h).
  int64_t rank = 0, ranks = 1;
};

/// An ordered queue of work, opaque: a CUstream on the GPU; null is the
/// default stream of either device.
struct Stream {
  void *handle = nullptr;
};

struct DeviceProperties {
  std::string name;   ///< "NVIDIA H200", "emulator (sm_90a)"
  std::string target; ///< best target of runtime/target that it executes
  int multiprocessors = 0;
  int ordinal = 0;                     ///< among the devices of its kind
  ProgramCode code = ProgramCode::ptx; ///< the best that it runs
};

/// An artifact made ready on one device. Immutable; safe to launch from
/// several threads. Keeps what it needs of the artifact.
class LoadedProgram {
public:
  virtual ~LoadedProgram() = default;
  virtual const Artifact &artifact() const = 0;
  /// What the device runs of it: PTX if that of any variant was compiled.
  virtual ProgramCode code() const { return ProgramCode::ptx; }
  /// The contents of a variable of a variant's module in global memory. No launch of the program may run.
  virtual Result<std::vector<std::byte>> readVariable(size_t variant, std::string_view name) const {
    (void)variant;
    return Error{.message = "the program has no variable '" + std::string(name) + "'"};
  }
};

/// A stream that ends with the object, once its work has ended. The device outlives it.
class OwnedStream {
public:
  explicit OwnedStream(Stream stream) : stream(stream) {}
  OwnedStream(const OwnedStream &) = delete;
  virtual ~OwnedStream() = default;
  operator Stream() const { return stream; }

protected:
  const Stream stream;
};

enum class EventTime : uint8_t { ignored, measured };

/// A point in the work of a stream: the end of all that was enqueued before it.
class Event {
public:
  explicit Event(EventTime time) : time(time) {}
  virtual ~Event() = default;
  const EventTime time;
};

/// A launch whose arguments are checked once, of one thread at a time. Device and program outlive it.
class PreparedLaunch {
public:
  virtual ~PreparedLaunch() = default;
  /// As `Device::launch`, any number of times. Checks nothing, and allocates no memory of the host either
  /// where the program neither reports nor has transfers (on a GPU).
  virtual Result<void> enqueue(Stream stream = {}) = 0;
  /// From the next `enqueue` on the tensors from number `first` of `Artifact::tensors` on are at these
  /// addresses, with their shapes and strides as they are. A tensor moves if its address is another one than
  /// before: what depends on that is checked, and its tensor maps are changed. All move at once, so two may
  /// trade places. An error, also of a symmetric tensor that moves, leaves the launch as it was.
  virtual Result<void> setAddresses(size_t first, std::span<void *const> addresses) = 0;
  Result<void> setAddress(size_t tensor, void *address) { return setAddresses(tensor, {&address, 1}); }
};

/// Work that was captured, of one thread at a time. The device, and the programs that it launches, outlive
/// it; memory that it uses stays.
class Graph {
public:
  virtual ~Graph() = default;
  /// Enqueues all of it; `stream` is not captured. Tensors of prepared launches that have moved since the
  /// capture are at their new addresses from now on, at each place where the graph has the launch.
  virtual Result<void> launch(Stream stream = {}) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  virtual const DeviceProperties &properties() const = 0;

  /// Memory of the device, at least 256-byte aligned. Zero bytes is valid. On a stream: a GPU's driver takes
  /// it from a pool, and what is enqueued there later, or elsewhere after an event, may use it.
  virtual Result<void *> allocate(size_t bytes, std::optional<Stream> on = {}) = 0;
  /// On a stream: what was allocated on one, when the work that is enqueued there has ended.
  virtual Result<void> free(void *address, std::optional<Stream> on = {}) = 0;
  /// Pinned memory of the host: copies between it and any device do not hold up the host. Zero bytes is
  /// valid.
  virtual Result<void *> allocateHost(size_t bytes) = 0;
  virtual Result<void> freeHost(void *address) = 0;
  /// Without a stream both return when the copy is done. On one they enqueue it: do not modify or free `host`
  /// until the copy is done. For memory that is not pinned the host may wait for the stream.
  virtual Result<void> copyToDevice(void *device, const void *host, size_t bytes,
                                    std::optional<Stream> on = {}) = 0;
  virtual Result<void> copyToHost(void *host, const void *device, size_t bytes,
                                  std::optional<Stream> on = {}) = 0;

  /// Loads the artifact's machine code, or compiles its PTX for this device. Not on the launch path.
  virtual Result<std::shared_ptr<const LoadedProgram>> load(Artifact artifact) = 0;

  /// Checks the arguments against the schema and picks the variant. Enqueues nothing. A launch that is made
  /// often is prepared once.
  virtual Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &program,
                                                          const LaunchArguments &arguments) = 0;
  /// Prepares the program's launches and enqueues them on `stream`. A GPU keeps the last ones of a program:
  /// a further one of their shapes, strides and scalars is not planned again, only what depends on addresses
  /// is checked, and no memory of the host is allocated under the conditions of `PreparedLaunch::enqueue`.
  /// Never allocates memory of the device, synchronises or loads, but waits while another thread reads what
  /// this program reports; can be captured in a CUDA graph, in which its tensors do not move. An emulated
  /// device that stands alone runs it to completion and returns what it found; one of several returns that
  /// from the next copy or `synchronize`. Of an emulated device that includes what the program prints and the
  /// checks that fail.
  virtual Result<void> launch(const LoadedProgram &program, const LaunchArguments &arguments,
                              Stream stream = {}) {
    Result<std::unique_ptr<PreparedLaunch>> prepared = prepare(program, arguments);
    return prepared ? (*prepared)->enqueue(stream) : prepared.error();
  }

  /// Waits for the stream, and after launches of programs that print or check, for all streams of the
  /// device: then what was printed is shown, and a check that failed is an `execution` error.
  virtual Result<void> synchronize(Stream stream = {}) = 0;

  /// A new stream, non-blocking with respect to the default stream. An emulated device
  /// completes what is enqueued on any stream in the order of the calls.
  virtual Result<std::unique_ptr<OwnedStream>> createStream() = 0;
  /// Enqueues zeros for so many bytes of this device's memory.
  virtual Result<void> clear(void *address, size_t bytes, Stream stream = {}) = 0;
  /// An event after all work enqueued on `stream` so far. An emulated device completes its work first, and
  /// returns what it found.
  virtual Result<std::unique_ptr<const Event>> record(Stream stream = {},
                                                      EventTime time = EventTime::ignored) = 0;
  /// Milliseconds from one event to the other, which this device has recorded with their times. Waits for
  /// both. An emulated device has the time of the host.
  virtual Result<double> elapsed(const Event &from, const Event &to) = 0;
  /// What is enqueued on `stream` from now on begins after `event`, which this device or another one of its
  /// kind has recorded. The host does not wait.
  virtual Result<void> wait(const Event &event, Stream stream = {}) = 0;

  /// Calls `enqueue`. What it enqueues on `stream`, and on streams that wait for events of it, becomes a
  /// graph instead of being done; `stream` waits for those streams in the end. Meanwhile this thread neither
  /// loads, allocates, creates streams nor synchronises. An error or exception of `enqueue` ends the capture.
  virtual Result<std::unique_ptr<Graph>> capture(Stream stream,
                                                 const std::function<Result<void>()> &enqueue) = 0;
  /// Whether the stream is captured, also by another library.
  virtual Result<bool> isCaptured(Stream stream) = 0;

  /// From now on kernels of this device may access memory of `peer`, another
  /// device of the same kind. The other direction is its own matter.
  virtual Result<void> enablePeerAccess(Device &peer) = 0;
  /// From memory of `source` to memory of this device, with or without peer
  /// access. Returns when the copy is done.
  virtual Result<void> copyFromPeer(void *destination, Device &source, const void *address, size_t bytes) = 0;
};

} // namespace tlc
