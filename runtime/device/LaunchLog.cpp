// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/LaunchLog.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>

using namespace tlc;

LaunchLabel::LaunchLabel(const Artifact &artifact) : program(artifact.name) {
  for (const Dimension &dimension : artifact.dimensions)
    dimensions.push_back(dimension.name);
}

LaunchRecord::LaunchRecord(std::shared_ptr<const LaunchLabel> label, const LaunchPlan &plan, Stream stream)
    : label(std::move(label)), stream(stream.handle) {
  std::copy_n(plan.dimensions.begin(), std::min(most, plan.dimensions.size()), dimensions.begin());
}

std::string LaunchRecord::text() const {
  std::string text = fmt::format("'{}'", label->program);
  for (size_t i = 0; i < std::min(most, label->dimensions.size()); ++i)
    text += fmt::format("{} {} = {}", i == 0 ? " with" : ",", label->dimensions[i], dimensions[i]);
  if (label->dimensions.size() > most)
    text += ", ...";
  return text + (stream ? fmt::format(" on stream {}", fmt::ptr(stream)) : " on the default stream");
}

void LaunchLog::add(LaunchRecord record) {
  const std::lock_guard lock(mutex);
  overwritten += records[next].label != nullptr;
  records[next] = std::move(record);
  next = (next + 1) % capacity;
}

void LaunchLog::endStream(Stream stream) {
  const std::lock_guard lock(mutex);
  for (LaunchRecord &record : records)
    if (record.stream == stream.handle)
      record = {};
  if (std::ranges::none_of(records, [](const LaunchRecord &record) { return record.label != nullptr; }))
    overwritten = 0;
}

void LaunchLog::clear() {
  const std::lock_guard lock(mutex);
  records = {};
  overwritten = 0;
}

Error LaunchLog::attribute(Error error) const {
  const std::lock_guard lock(mutex);
  std::vector<std::pair<const LaunchRecord *, size_t>> launches; // and how often in a row
  for (size_t i = 0; i < capacity; ++i) {
    const LaunchRecord &record = records[(next + i) % capacity];
    if (!record.label)
      continue;
    if (!launches.empty() && *launches.back().first == record)
      ++launches.back().second;
    else
      launches.emplace_back(&record, 1);
  }
  if (launches.empty())
    return error;
  error.message += "; launched since the last synchronisation: ";
  if (overwritten > 0)
    error.message += fmt::format("{} more, ", overwritten);
  for (const auto &[record, times] : launches)
    error.message += fmt::format("{}{}{}", record == launches.front().first ? "" : ", ", record->text(),
                                 times > 1 ? fmt::format(" ({} times)", times) : "");
  if (launches.size() > 1 || overwritten > 0)
    error.message += "; a device that waits for each launch (CudaDeviceOptions::waitsForLaunches) says which "
                     "one fails";
  return error;
}
