// SPDX-License-Identifier: Apache-2.0
/// \file
/// A pool of threads over mutants.
#include "tools/mutate/Trial.h"

#include <array>
#include <atomic>
#include <thread>

using namespace tlc;
using namespace tlc::mutate;

std::string_view mutate::toString(Detection detection) {
  constexpr std::array<std::string_view, detectionCount> names = {"missed",   "refused", "checker",
                                                                  "deadlock", "fault",   "wrong result"};
  return names[size_t(detection)];
}

Detection mutate::detectionOf(FindingKind kind) {
  switch (kind) {
  case FindingKind::fault:
    return Detection::fault;
  case FindingKind::deadlock:
    return Detection::deadlock;
  default:
    return Detection::checker;
  }
}

std::vector<Outcome> mutate::tryAll(size_t mutants, const std::function<Outcome(size_t)> &trial,
                                    unsigned threads, const OnTried &onTried) {
  std::vector<Outcome> outcomes(mutants);
  std::atomic<size_t> next = 0, tried = 0;
  const auto work = [&] {
    for (size_t i = next++; i < mutants; i = next++) {
      outcomes[i] = trial(i);
      if (const size_t count = ++tried; onTried)
        onTried(count, mutants);
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = threads != 0 ? threads : std::thread::hardware_concurrency(); i > 1; --i)
    workers.emplace_back(work);
  work();
  workers.clear();
  return outcomes;
}
