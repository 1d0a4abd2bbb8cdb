// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rounds of batches between events.
#include "tools/tlc/Rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace tlc;
using namespace tlc::driver;

namespace {

using Events = std::vector<std::unique_ptr<const Event>>;

/// Of each device, on its default stream.
Result<Events> recordAll(llvm::ArrayRef<std::unique_ptr<Device>> devices) {
  Events events;
  for (const std::unique_ptr<Device> &device : devices) {
    Result<std::unique_ptr<const Event>> event = device->record({}, EventTime::measured);
    if (!event)
      return event.error();
    events.push_back(std::move(*event));
  }
  return events;
}

Result<double> timeBatch(llvm::ArrayRef<std::unique_ptr<Device>> devices, const Contestant &contestant,
                         RoundOptions options) {
  for (int i = 0; i != options.warmups; ++i)
    if (Result<void> done = contestant(); !done)
      return done.error();
  Result<Events> begin = recordAll(devices);
  if (!begin)
    return begin.error();
  for (int i = 0; i != options.launches; ++i)
    if (Result<void> done = contestant(); !done)
      return done.error();
  Result<Events> end = recordAll(devices);
  if (!end)
    return end.error();
  double slowest = 0;
  for (size_t i = 0; i != devices.size(); ++i) {
    Result<double> milliseconds = devices[i]->elapsed(*(*begin)[i], *(*end)[i]);
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
  std::vector<std::vector<double>> seconds(contestants.size());
  std::vector<size_t> order(contestants.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::mt19937 random;
  for (int round = 0; round != options.rounds; ++round) {
    if (options.shuffled)
      std::ranges::shuffle(order, random);
    for (const size_t i : order) {
      Result<double> time = timeBatch(devices, contestants[i], options);
      if (!time)
        return time.error();
      seconds[i].push_back(*time);
    }
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
