// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks in host memory: a stream is a thread, flags and counts are atomic numbers.
#pragma once

#include "runtime/device/LaunchPlan.h"
#include "runtime/device/RankGroup.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tlc::test {

struct HostProgram final : LoadedProgram {
  explicit HostProgram(Artifact artifact) : content(std::move(artifact)) {}
  const Artifact &artifact() const override { return content; }
  Artifact content;
};

/// Does what is enqueued, one after the other.
class HostStream {
public:
  HostStream() : thread([this] { work(); }) {}
  HostStream(const HostStream &) = delete;
  ~HostStream() {
    isEnding = true;
    changed.notify_all();
    thread.join();
  }
  void push(std::function<void()> task) {
    const std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    changed.notify_all();
  }
  bool isDone() {
    const std::lock_guard lock(mutex);
    return tasks.empty();
  }
  /// Waits in a task; gives up where the stream is destroyed.
  void waitFor(const std::function<bool()> &condition) const {
    while (!isEnding && !condition())
      std::this_thread::yield();
  }

private:
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return isEnding || !tasks.empty(); });
      if (isEnding)
        return;
      lock.unlock();
      tasks.front()();
      lock.lock();
      tasks.pop_front();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks; ///< the first one is being done
  std::atomic<bool> isEnding = false;
  std::thread thread;
};

class HostFlags final : public StreamFlags {
public:
  explicit HostFlags(HostStream &stream, int device = 0) : stream(stream), device(device) {}
  int ordinal() const override { return device; }
  Result<void> enqueue(std::span<const FlagOperation> operations, Stream) override {
    for (const FlagOperation &operation : operations)
      stream.push([this, operation] { perform(operation); });
    return {};
  }
  Result<void> write(uint32_t value, std::span<uint32_t *const> places) override {
    for (uint32_t *place : places)
      std::atomic_ref(*place).store(value);
    return {};
  }
  Result<bool> isCaptured(Stream) override { return false; }
  Result<bool> isDone(Stream) override { return stream.isDone(); }
  Result<std::vector<uint32_t>> read(const uint32_t *address, size_t count) override {
    std::vector<uint32_t> words;
    for (size_t i = 0; i < count; ++i)
      words.push_back(std::atomic_ref(const_cast<uint32_t &>(address[i])).load());
    return words;
  }
  void abandon() override {}

private:
  void perform(const FlagOperation &operation) const {
    std::atomic_ref flag(*operation.address);
    if (operation.kind == FlagOperation::Kind::write)
      flag.store(operation.value);
    else
      stream.waitFor([&] { return flag.load() == operation.value; });
  }

  HostStream &stream;
  const int device;
};

/// A device that does only what a group calls.
class RankDevice : public Device {
public:
  explicit RankDevice(int ordinal)
      : description{.name = "host", .target = "sm_90a", .multiprocessors = 4, .ordinal = ordinal} {}
  const DeviceProperties &properties() const override { return description; }
  Result<std::unique_ptr<PreparedLaunch>> prepare(const LoadedProgram &program,
                                                  const LaunchArguments &arguments) override {
    if (Result<LaunchPlan> plan = planLaunch(program.artifact(), arguments, description); !plan)
      return plan.error();
    return std::unique_ptr<PreparedLaunch>(std::make_unique<Prepared>(*this, arguments));
  }
  virtual Result<void> enqueue(const LaunchArguments &arguments) = 0;
  Result<void> synchronize(Stream) override { return none(); }

private:
  struct Prepared final : PreparedLaunch {
    Prepared(RankDevice &device, LaunchArguments arguments)
        : device(device), arguments(std::move(arguments)) {}
    Result<void> enqueue(Stream) override { return device.enqueue(arguments); }
    Result<void> setAddresses(size_t, std::span<void *const>) override { return none(); }
    RankDevice &device;
    LaunchArguments arguments;
  };
  Result<void *> allocate(size_t, std::optional<Stream>) override { return none(); }
  Result<void> free(void *, std::optional<Stream>) override { return none(); }
  Result<void *> allocateHost(size_t) override { return none(); }
  Result<void> freeHost(void *) override { return none(); }
  Result<void> copyToDevice(void *, const void *, size_t, std::optional<Stream>) override { return none(); }
  Result<void> copyToHost(void *, const void *, size_t, std::optional<Stream>) override { return none(); }
  Result<std::shared_ptr<const LoadedProgram>> load(Artifact) override { return none(); }
  Result<std::unique_ptr<OwnedStream>> createStream() override { return none(); }
  Result<std::unique_ptr<const Event>> record(Stream, EventTime) override { return none(); }
  Result<double> elapsed(const Event &, const Event &) override { return none(); }
  Result<void> wait(const Event &, Stream) override { return none(); }
  Result<std::unique_ptr<Graph>> capture(Stream, const std::function<Result<void>()> &) override {
    return none();
  }
  Result<bool> isCaptured(Stream) override { return none(); }
  Result<void> enablePeerAccess(Device &) override { return none(); }
  Result<void> copyFromPeer(void *, Device &, const void *, size_t) override { return none(); }
  static Error none() { return {ErrorKind::environment, "no group calls this"}; }

  const DeviceProperties description;
};

/// Clears host memory, and calls a function as the kernel.
class HostDevice final : public RankDevice {
public:
  using Kernel = std::function<void(const LaunchArguments &)>;
  HostDevice(HostStream &stream, Kernel kernel) : RankDevice(0), stream(stream), kernel(std::move(kernel)) {}

  Result<void> enqueue(const LaunchArguments &arguments) override {
    stream.push([this, arguments] { kernel(arguments); });
    return {};
  }
  Result<void> clear(void *address, size_t bytes, Stream) override {
    stream.push([=] {
      for (size_t i = 0; i < bytes / sizeof(uint32_t); ++i)
        std::atomic_ref(static_cast<uint32_t *>(address)[i]).store(0);
    });
    return {};
  }

private:
  HostStream &stream;
  const Kernel kernel;
};

} // namespace tlc::test
