// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule that keeps time: whoever comes next in modelled cycles has the
/// next turn, and what happens is recorded.
#pragma once

#include "runtime/emulator/exec/State.h"
#include "runtime/emulator/trace/Trace.h"

#include <memory>
#include <span>

namespace tlc::emulator {

/// Where memory begins that has a name.
struct NamedMemory {
  std::string name;
  uint64_t address = 0;
};

/// Fills `trace` while the cluster runs; both must outlive it.
std::unique_ptr<Schedule> createTimedSchedule(Cluster &cluster, std::span<const NamedMemory> tensors,
                                              Trace &trace);

} // namespace tlc::emulator
