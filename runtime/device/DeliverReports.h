// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of a launch's reports, on both devices alike.
#pragma once

#include "runtime/artifact/Reports.h"
#include "runtime/support/Result.h"

#include <functional>

namespace tlc {

/// Takes a text with its end of line; empty: it goes to stderr.
using PrintFunction = std::function<void(std::string_view)>;

/// Prints what was printed, and how many records were lost; an `execution` error that names the checks that
/// failed, and counts those without a record.
Result<void> deliver(const Reports &reports, const PrintFunction &print);

} // namespace tlc
