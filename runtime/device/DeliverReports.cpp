// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/DeliverReports.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

using namespace tlc;

namespace {

/// Failed checks that an error names.
constexpr size_t mostNamed = 8;

std::string textOf(const Reports &reports) {
  const std::vector<std::string> &failures = reports.failures;
  const size_t failed = failures.size() + reports.lostChecks;
  std::string text = fmt::format("{} check{} failed", failed, failed == 1 ? "" : "s");
  for (const std::string &failure : std::span(failures).first(std::min(failures.size(), mostNamed)))
    text += "\n  " + failure;
  if (failures.size() > mostNamed)
    text += fmt::format("\n  and {} more", failures.size() - mostNamed);
  if (reports.lostChecks > 0)
    text += fmt::format("\n  {} of them found no room for a record", reports.lostChecks);
  return text;
}

} // namespace

Result<void> tlc::deliver(const Reports &reports, const PrintFunction &print, Result<void> done) {
  auto show = [&](const std::string &line) {
    if (print)
      print(line + "\n");
    else
      std::fprintf(stderr, "%s\n", line.c_str());
  };
  for (const std::string &line : reports.prints)
    show(line);
  if (reports.lost > 0)
    show(fmt::format("{} lost: each program has room for {} between two synchronisations",
                     reports.lost == 1 ? "1 report was" : fmt::format("{} reports were", reports.lost),
                     reportCapacity));
  if (reports.failures.empty() && reports.lostChecks == 0)
    return done;
  if (!done && reports.endsWaits) // which explains what came after it
    return Error{done.error().kind, textOf(reports) + "\n" + done.error().message};
  if (!done)
    return Error{done.error().kind, done.error().message + "\n" + textOf(reports)};
  return Error{ErrorKind::execution, textOf(reports)};
}

Result<void> tlc::checkReportBuffer(std::string_view program, std::optional<size_t> bytes) {
  if (!bytes)
    return Error{.message = fmt::format("'{}' has no buffer for what its kernels report", program)};
  if (*bytes != reportBufferBytes)
    return Error{.message = fmt::format("the buffer for reports of '{}' has {} bytes, but expected {}",
                                        program, *bytes, reportBufferBytes)};
  return {};
}
