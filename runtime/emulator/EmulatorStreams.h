// SPDX-License-Identifier: Apache-2.0
/// \file
/// Streams and events of emulated devices, which do what is enqueued on any stream in the order of the calls.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/emulator/EmulatorCapture.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

namespace tlc {

/// Its address is its handle.
class EmulatorStream final : public OwnedStream {
public:
  EmulatorStream() : OwnedStream({.handle = this}) {}
};

class EmulatorEvent final : public Event {
public:
  /// `capture`: that it is part of; null: work before it is complete.
  EmulatorEvent(EventTime time, const void *device, std::shared_ptr<EmulatorCapture> capture)
      : Event(time), capture(std::move(capture)), device(device) {}
  /// `name` is that of device `self` in errors.
  static Result<double> elapsed(const Event &from, const Event &to, const void *self, std::string_view name);

  const std::shared_ptr<EmulatorCapture> capture;

private:
  const void *device;
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
};

/// What stands for pinned memory. Safe to use from several threads.
class HostMemory {
public:
  void *allocate(size_t bytes);
  Result<void> free(void *address);

private:
  std::mutex mutex;
  std::map<void *, std::unique_ptr<std::byte[]>> blocks;
};

} // namespace tlc
