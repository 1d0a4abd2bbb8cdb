// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of a launch's reports, on both devices alike.
#pragma once

#include "runtime/artifact/Reports.h"
#include "runtime/support/Result.h"

#include <functional>
#include <optional>

namespace tlc {

/// Takes a text with its end of line; empty: it goes to stderr.
using PrintFunction = std::function<void(std::string_view)>;

/// Prints what was printed, and how many records were lost; an `execution` error that names the checks that
/// failed, and counts those without a record. An error that came before it, `done`, is told first, unless a
/// wait has ended before it should have.
/// `print` may launch: the caller holds no lock that a launch takes.
Result<void> deliver(const Reports &reports, const PrintFunction &print, Result<void> done = {});

/// Whether the module of the program of that name has a buffer for reports, of so many bytes; nothing if it
/// has none.
Result<void> checkReportBuffer(std::string_view program, std::optional<size_t> bytes);

} // namespace tlc
