// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatorCapture.h"

#include "runtime/device/StreamChecks.h"

#include <algorithm>

using namespace tlc;

namespace {

class Call final : public CapturedStep {
public:
  explicit Call(std::function<Result<void>()> work) : work(std::move(work)) {}
  Result<void> run(Stream) override { return work(); }

private:
  std::function<Result<void>()> work;
};

class EmulatorGraph final : public Graph {
public:
  EmulatorGraph(EmulatorCaptures &captures, std::vector<std::unique_ptr<CapturedStep>> steps)
      : captures(captures), steps(std::move(steps)) {}
  Result<void> launch(Stream stream) override {
    if (captures.find(stream))
      return errorOfCapturedStream("launch a graph on");
    for (const std::unique_ptr<CapturedStep> &step : steps)
      if (Result<void> done = step->run(stream); !done)
        return done;
    return {};
  }

private:
  EmulatorCaptures &captures;
  std::vector<std::unique_ptr<CapturedStep>> steps;
};

} // namespace

void EmulatorCapture::add(std::function<Result<void>()> work) {
  steps.push_back(std::make_unique<Call>(std::move(work)));
}

Result<std::unique_ptr<Graph>> EmulatorCaptures::capture(Stream stream,
                                                         const std::function<Result<void>()> &enqueue) {
  if (isOfThisThread())
    return errorOfSecondCapture();
  if (!stream.handle)
    return errorOfDefaultStream();
  auto capture = std::make_shared<EmulatorCapture>();
  {
    const std::lock_guard lock(mutex);
    removeEnded();
    if (!streams.emplace(stream.handle, capture).second)
      return errorOfCapturedStream("capture");
  }
  struct End { // also where `enqueue` throws
    EmulatorCaptures &captures;
    const std::shared_ptr<EmulatorCapture> &capture;
    ~End() {
      const std::lock_guard lock(captures.mutex);
      capture->hasEnded = true;
      captures.removeEnded();
    }
  };
  const Result<void> enqueued = [&] {
    const End end{*this, capture};
    return enqueue();
  }();
  if (!enqueued)
    return enqueued.error();
  for (const std::unique_ptr<CapturedStep> &step : capture->steps)
    step->finish();
  return std::unique_ptr<Graph>(std::make_unique<EmulatorGraph>(*this, std::move(capture->steps)));
}

void EmulatorCaptures::removeEnded() {
  std::erase_if(streams, [](const auto &one) { return one.second->hasEnded.load(); });
}

std::shared_ptr<EmulatorCapture> EmulatorCaptures::find(Stream stream) {
  const std::lock_guard lock(mutex);
  removeEnded();
  const auto found = streams.find(stream.handle);
  return found == streams.end() ? nullptr : found->second;
}

bool EmulatorCaptures::isOfThisThread() {
  const std::lock_guard lock(mutex);
  removeEnded();
  return std::ranges::any_of(
      streams, [](const auto &one) { return one.second->thread == std::this_thread::get_id(); });
}

Result<void> EmulatorCaptures::wait(Stream stream, const std::shared_ptr<EmulatorCapture> &capture) {
  const std::lock_guard lock(mutex);
  removeEnded();
  const auto found = streams.find(stream.handle);
  const std::shared_ptr<EmulatorCapture> own = found == streams.end() ? nullptr : found->second;
  if (capture && capture->hasEnded)
    return Error{.message = "cannot wait for an event of a capture that has ended"};
  if (own && own != capture)
    return Error{.message =
                     "expected an event of the same capture because the stream is captured, but got one "
                     "that was recorded before or in another one"};
  if (capture)
    streams.emplace(stream.handle, capture);
  return {};
}
