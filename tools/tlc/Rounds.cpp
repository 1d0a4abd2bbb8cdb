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

Result<double> timeBatch(CudaTimer &timer, const Contestant &contestant, RoundOptions options) {
  for (int i = 0; i != options.warmups; ++i)
    if (Result<void> done = contestant(); !done)
      return done.error();
  if (Result<void> started = timer.start(); !started)
    return started.error();
  for (int i = 0; i != options.launches; ++i)
    if (Result<void> done = contestant(); !done)
      return done.error();
  if (Result<void> stopped = timer.stop(); !stopped)
    return stopped.error();
  Result<double> milliseconds = timer.milliseconds();
  if (!milliseconds)
    return milliseconds.error();
  return *milliseconds * 1e-3 / options.launches;
}

} // namespace

Result<std::vector<std::vector<double>>>
tlc::driver::timeInTurns(Device &device, llvm::ArrayRef<Contestant> contestants, RoundOptions options) {
  Result<std::unique_ptr<CudaTimer>> timer = createCudaTimer(device);
  if (!timer)
    return timer.error();
  std::vector<std::vector<double>> seconds(contestants.size());
  for (int round = 0; round != options.rounds; ++round)
    for (size_t i = 0; i != contestants.size(); ++i) {
      Result<double> time = timeBatch(**timer, contestants[i], options);
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
