// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/core/PollingDeadlock.h"

#include "runtime/emulator/exec/core/State.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tlc::emulator {

// --- among host threads -------------------------------------------------------------

uint64_t Progress::version() const {
  const std::lock_guard lock(mutex);
  return number;
}

// Who stood still until a change counts no more, also before it has woken up.

void Progress::changed() {
  const std::lock_guard lock(mutex);
  ++number;
  if (std::exchange(still, 0) != 0)
    wake.notify_all();
}

void Progress::beginLaunch(unsigned hostThreads) {
  const std::lock_guard lock(mutex);
  ++launches, threads += hostThreads, ++number, still = 0, isPatient = true;
  wake.notify_all();
}

void Progress::leave(unsigned remaining) {
  const std::lock_guard lock(mutex);
  --threads, ++number, still = 0, isPatient = true;
  if (remaining == 0) // else those who stand still could take it for one that will not end
    --launches;
  wake.notify_all();
}

void Progress::addLate() {
  const std::lock_guard lock(mutex);
  ++late;
}

bool Progress::waitUntilStill(const bool &stopped) {
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return isCalled || stopped; });
  if (!isCalled)
    --late;
  return std::exchange(isCalled, false);
}

void Progress::hasDone(bool isLate) {
  const std::lock_guard lock(mutex);
  --threads, ++number, still = 0;
  late -= isLate ? 0 : 1;
  wake.notify_all();
}

void Progress::stopWaiting(bool &stopped) {
  const std::lock_guard lock(mutex);
  stopped = true;
  wake.notify_all();
}

bool Progress::isDeadlocked(uint64_t version) {
  std::unique_lock lock(mutex);
  if (number != version)
    return deadAt == version;
  ++still;
  const auto over = [&] { return number != version || deadAt == version; };
  const auto allStill = [&] { return still == threads; };
  while (!over()) {
    if (!allStill()) {
      wake.wait(lock, [&] { return over() || allStill(); });
      continue;
    }
    if (late > 0) {
      isCalled = true;
      ++threads, ++number, still = 0;
      wake.notify_all();
      continue;
    }
    // Every device that could launch is busy with what stands still, or stays idle.
    if (launches < launchers && isPatient &&
        !wake.wait_for(lock, std::chrono::seconds(patienceSeconds), over))
      isPatient = false;
    if (number == version) {
      if (!passTime())
        deadAt = version;
      wake.notify_all();
    }
  }
  return deadAt == version;
}

bool Progress::passTime() {
  if (!timeWasRead.exchange(false) || now >= endOfTime)
    return false;
  step = passedAt == number ? 2 * step : firstStep;
  now += step;
  passedAt = ++number;
  still = 0;
  return true;
}

// --- of a cluster -------------------------------------------------------------------

namespace {

void append(std::vector<std::byte> &to, const void *from, size_t bytes) {
  const auto *first = static_cast<const std::byte *>(from);
  to.insert(to.end(), first, first + bytes);
}

/// Places and registers of the warp.
std::vector<std::byte> stateOf(const Warp &warp) {
  std::vector<std::byte> state;
  for (const Group &group : warp.groups) {
    append(state, &group.pc, sizeof(group.pc));
    append(state, &group.mask, sizeof(group.mask));
    append(state, &group.wait.kind, sizeof(group.wait.kind));
  }
  append(state, warp.registers, gridOf(warp).kernel->registerBytes);
  return state;
}

/// Lanes that wait cannot, all others have run since.
bool allHaveRun(const Warp &warp, uint64_t steps) {
  return std::none_of(warp.groups.begin(), warp.groups.end(), [&](const Group &group) {
    const bool runs =
        group.wait.kind == Wait::Kind::none || group.wait.kind == Wait::Kind::yield || group.timedOut;
    return runs && group.ranAt <= steps;
  });
}

} // namespace

void Repetition::observe(const Cluster &cluster, uint64_t version) {
  if (cluster.progress != progress || version != since) {
    progress = cluster.progress, since = version;
    turns = 0;
    repeats = false;
    warps.clear();
    return;
  }
  if (repeats)
    return;
  // Compared with the state of ever more turns ago, so that any period is found.
  ++turns;
  const bool keeps = (turns & (turns - 1)) == 0, isFirst = warps.empty();
  repeats = true;
  size_t i = 0;
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps) {
      Past &past = isFirst ? warps.emplace_back() : warps[i++];
      if (past.repeats || warp.done())
        continue;
      past.repeats = !isFirst && allHaveRun(warp, past.steps) && past.state == stateOf(warp);
      if (!past.repeats && keeps)
        past.state = stateOf(warp), past.steps = warp.steps;
      repeats &= past.repeats;
    }
}

} // namespace tlc::emulator
