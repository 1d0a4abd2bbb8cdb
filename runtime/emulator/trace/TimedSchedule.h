// SPDX-License-Identifier: Apache-2.0
/// \file
/// The schedule that keeps time: whoever comes next in modelled cycles has the
/// next turn, and what happens is recorded.
#pragma once

#include "runtime/emulator/exec/core/State.h"
#include "runtime/emulator/trace/Trace.h"

#include <memory>
#include <span>

namespace tlc::emulator {

/// Fills `trace` while the cluster runs; both must outlive it.
std::unique_ptr<Schedule> createTimedSchedule(Cluster &cluster, std::span<const NamedTensor> tensors,
                                              Trace &trace);

} // namespace tlc::emulator
