// SPDX-License-Identifier: Apache-2.0
/// \file
/// A timeline as a file.
#pragma once

#include "runtime/emulator/trace/Summary.h"

#include <optional>
#include <string>

namespace tlc::emulator {

/// Chrome's trace event format, which ui.perfetto.dev opens: a process for each
/// block, a thread for each warp, engine and slot, arrows from who ends a wait.
std::string toChromeJson(const Trace &trace, const TraceSummary &summary);

/// A range of cycles.
struct TraceWindow {
  uint64_t begin = 0, end = 0;
};

/// A picture for a browser. Without a window it shows all of a short timeline,
/// and the beginning of a long one.
std::string toSvg(const Trace &trace, const TraceSummary &summary, std::optional<TraceWindow> window);

} // namespace tlc::emulator
