// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatorLaunch.h"

#include "runtime/device/StreamChecks.h"

#include <utility>

using namespace tlc;

namespace {

/// What a prepared launch is now; graphs have it, too.
struct Current {
  std::shared_ptr<const ReadyLaunch> ready;
  uint64_t moves = 0; ///< how often a tensor has moved
};

/// A place of a prepared launch in a graph.
class CapturedLaunch final : public CapturedStep {
public:
  CapturedLaunch(LaunchingDevice &device, std::shared_ptr<const Current> launch)
      : device(device), current(std::move(launch)), ready(current->ready) {}
  void finish() override { moves = current->moves; }
  Result<void> run(Stream stream) override {
    if (moves != current->moves) {
      if (Result<void> movable = checkMovedInGraph(ready->program.artifact().name, current->ready->plan,
                                                   ready->plan.variantIndex);
          !movable)
        return movable;
      ready = current->ready, moves = current->moves;
    }
    return device.enqueue(ready, stream);
  }

private:
  LaunchingDevice &device;
  const std::shared_ptr<const Current> current;
  std::shared_ptr<const ReadyLaunch> ready;
  uint64_t moves = 0;
};

class EmulatorLaunch final : public PreparedLaunch {
public:
  EmulatorLaunch(LaunchingDevice &device, std::shared_ptr<const ReadyLaunch> ready)
      : device(device), current(std::make_shared<Current>(std::move(ready))) {}

  Result<void> enqueue(Stream stream) override {
    if (std::shared_ptr<EmulatorCapture> capture = device.captureOf(stream)) {
      capture->steps.push_back(std::make_unique<CapturedLaunch>(device, current));
      return {};
    }
    return device.enqueue(current->ready, stream);
  }
  Result<void> setAddresses(size_t first, std::span<void *const> addresses) override {
    const ReadyLaunch &before = *current->ready;
    const Artifact &artifact = before.program.artifact();
    if (Result<void> valid = checkTensors(artifact, first, addresses.size()); !valid)
      return valid;
    LaunchArguments arguments = before.arguments;
    bool moves = false;
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (std::exchange(arguments.tensors[first + i].data, addresses[i]) == addresses[i])
        continue;
      if (Result<void> movable = checkMovable(artifact, first + i); !movable)
        return movable;
      moves = true;
    }
    if (!moves)
      return {};
    Result<std::shared_ptr<const ReadyLaunch>> ready = device.makeReady(before.program, std::move(arguments));
    if (!ready)
      return ready.error();
    *current = {std::move(*ready), current->moves + 1};
    return {};
  }

private:
  LaunchingDevice &device;
  const std::shared_ptr<Current> current;
};

} // namespace

std::unique_ptr<PreparedLaunch> tlc::createEmulatorLaunch(LaunchingDevice &device,
                                                          std::shared_ptr<const ReadyLaunch> ready) {
  return std::make_unique<EmulatorLaunch>(device, std::move(ready));
}
