// SPDX-License-Identifier: Apache-2.0
/// \file
/// The timeline of what a profiled launch has recorded.
#pragma once

#include "runtime/artifact/Profile.h"
#include "runtime/emulator/trace/Trace.h"

#include <span>
#include <string>

namespace tlc::emulator {

/// What ran on which device. `modelled`, of the same launch, has what is not recorded: the grid, and the
/// target's rates. `launch` is the profiled one.
///
/// A slot of a ring is filling from when its producer has seen that it is empty until a consumer sees that it
/// is full, and full until its producer sees that it is empty again: both are upper bounds, exact where who
/// looks has waited. Blocks of a cluster, whose clocks differ, are shown as if they had begun together.
Trace measuredTrace(const Trace &modelled, const Launch &launch, std::span<const BlockProfile> blocks,
                    std::string device, double clockGhz);

/// Cycles per nanosecond of the profiled blocks by the clocks of the device; nothing if they ran for too
/// short a time.
std::optional<double> clockGhzOf(std::span<const BlockProfile> blocks);

} // namespace tlc::emulator
