// SPDX-License-Identifier: Apache-2.0
/// \file
/// A thread that sleeps, mostly.
#include "tools/tlc/Heartbeat.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

using namespace tlc::driver;

namespace {
void printToStandardError(const std::string &line) { std::fputs(line.c_str(), stderr); }
} // namespace

Heartbeat::Heartbeat(std::function<std::string()> text)
    : Heartbeat(std::move(text), Times(), printToStandardError) {}

Heartbeat::Heartbeat(std::function<std::string()> text, Times times, Print print)
    : text(std::move(text)), print(std::move(print)), thread([this, times] { beat(times); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex);
    isOver = true;
  }
  ending.notify_one();
  thread.join();
}

void Heartbeat::beat(Times times) {
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::milliseconds distance = times.first;
  std::unique_lock lock(mutex);
  while (!ending.wait_for(lock, distance, [&] { return isOver; })) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    print(fmt::format("tlc: {}, {:.0f} s so far\n", text(), spent.count()));
    distance = std::min(2 * distance, times.longest);
  }
}
