// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a device is asked for, by `EmulatorOptions::trace`.
#pragma once

#include "runtime/emulator/trace/Trace.h"

#include <cstddef>
#include <cstdint>

namespace tlc {

namespace emulator {
class OriginSearch; // runtime/emulator/origin/OriginSearch.h
}

/// Asks a device for the timeline of one block's cluster: launches before
/// `launch` run, of that one only the cluster runs, later ones do not.
struct TraceRequest {
  uint32_t block = 0;    ///< counted in x, then y, then z
  size_t launch = 0;     ///< of a program that has several
  emulator::Trace trace; ///< the answer
  /// Asks for the origin of a value instead, of all launches.
  emulator::OriginSearch *origins = nullptr;
};

} // namespace tlc
