// SPDX-License-Identifier: Apache-2.0
/// \file
/// Captures of streams of an emulated device: a graph is the list of what was enqueued, which is done again
/// in its order.
#pragma once

#include "runtime/device/Device.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tlc {

/// A step of a graph.
class CapturedStep {
public:
  virtual ~CapturedStep() = default;
  /// On the stream that the graph is launched on.
  virtual Result<void> run(Stream stream) = 0;
  /// The capture has ended.
  virtual void finish() {}
};

struct EmulatorCapture {
  std::thread::id thread = std::this_thread::get_id();
  std::vector<std::unique_ptr<CapturedStep>> steps = {};
  std::atomic<bool> hasEnded = false;

  /// Appends a call of `work() -> Result<void>`.
  void add(std::function<Result<void>()> work);
};

/// The captures of a device. Safe to use from several threads.
class EmulatorCaptures {
public:
  /// `Device::capture`.
  Result<std::unique_ptr<Graph>> capture(Stream stream, const std::function<Result<void>()> &enqueue);
  /// The one that the stream belongs to, or null.
  std::shared_ptr<EmulatorCapture> find(Stream stream);
  bool isOfThisThread();
  /// What is enqueued on the stream from now on comes after an event, which was recorded in that capture;
  /// null: in none.
  Result<void> wait(Stream stream, const std::shared_ptr<EmulatorCapture> &capture);

private:
  /// Those of streams that joined a capture of another device, which does not know them. Locked.
  void removeEnded();

  std::mutex mutex;
  std::map<void *, std::shared_ptr<EmulatorCapture>> streams; ///< by handle
};

} // namespace tlc
