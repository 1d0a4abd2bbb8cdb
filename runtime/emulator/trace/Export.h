// SPDX-License-Identifier: Apache-2.0
/// \file
/// A timeline as a file.
#pragma once

#include "runtime/emulator/trace/Summary.h"

#include <optional>
#include <span>
#include <string>

namespace tlc::emulator {

struct Timeline {
  const Trace &trace;
  const TraceSummary &summary;
};

/// Chrome's trace event format, which ui.perfetto.dev opens: a process for each
/// block of each timeline, a thread for each warp, engine and slot, arrows from who ends a wait.
std::string toChromeJson(std::span<const Timeline> timelines);

/// A range of cycles.
struct TraceWindow {
  uint64_t begin = 0, end = 0;
};

/// A picture for a browser, of one timeline below the other. Without a window it shows all of a short
/// timeline, and the beginning of a long one.
std::string toSvg(std::span<const Timeline> timelines, std::optional<TraceWindow> window);

} // namespace tlc::emulator
