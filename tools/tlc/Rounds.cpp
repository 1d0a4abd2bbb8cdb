// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rounds of batches between events.
#include "tools/tlc/Rounds.h"

#include "runtime/cuda/CudaDevice.h"

#include <algorithm>
#include <cmath>

using namespace tlc;
using namespace tlc::driver;

namespace {

Result<double> timeBatch(llvm::ArrayRef<std::unique_ptr<CudaTimer>> timers, const Contestant &contestant,
                         RoundOptions options) {
  for (int i = 0; i != options.warmups; ++i)
    if (Result<void> done = contestant(); !done)
      return done.error();
  for (const std::unique_ptr<CudaTimer> &timer : timers)
    if (Result<void> started = timer->start(); !started)
      return started.error();
  for (int i = 0; i != options.launches; ++i)
    if (Result<void> done = contestant(); !done)
      return done.error();
  for (const std::unique_ptr<CudaTimer> &timer : timers)
    if (Result<void> stopped = timer->stop(); !stopped)
      return stopped.error();
  double slowest = 0;
  for (const std::unique_ptr<CudaTimer> &timer : timers) {
    Result<double> milliseconds = timer->milliseconds();
    if (!milliseconds)
      return milliseconds.error();
    slowest = std::max(slowest, *milliseconds);
  }
  return slowest * 1e-3 / options.launches;
}

} // namespace

Result<std::vector<std::vector<double>>>
tlc::driver::timeInTurns(llvm::ArrayRef<std::unique_ptr<Device>> devices,
                         llvm::ArrayRef<Contestant> contestants, RoundOptions options) {
  std::vector<std::unique_ptr<CudaTimer>> timers;
  for (const std::unique_ptr<Device> &device : devices) {
    Result<std::unique_ptr<CudaTimer>> timer = createCudaTimer(*device);
    if (!timer)
      return timer.error();
    timers.push_back(std::move(*timer));
  }
  std::vector<std::vector<double>> seconds(contestants.size());
  for (int round = 0; round != options.rounds; ++round)
    for (size_t i = 0; i != contestants.size(); ++i) {
      Result<double> time = timeBatch(timers, contestants[i], options);
      if (!time)
        return time.error();
      seconds[i].push_back(*time);
    }
  return seconds;
}

double tlc::driver::median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::ranges::sort(values);
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double tlc::driver::geometricMean(llvm::ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / values.size());
}
