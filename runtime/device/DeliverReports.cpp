// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/DeliverReports.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

using namespace tlc;

namespace {

/// Failed checks that an error names.
constexpr size_t mostNamed = 8;

std::string textOf(const std::vector<std::string> &failures) {
  std::string text = fmt::format("{} check{} failed", failures.size(), failures.size() == 1 ? "" : "s");
  for (const std::string &failure : std::span(failures).first(std::min(failures.size(), mostNamed)))
    text += "\n  " + failure;
  if (failures.size() > mostNamed)
    text += fmt::format("\n  and {} more", failures.size() - mostNamed);
  return text;
}

} // namespace

Result<void> tlc::deliver(const Reports &reports, const PrintFunction &print) {
  auto show = [&](const std::string &line) {
    if (print)
      print(line + "\n");
    else
      std::fprintf(stderr, "%s\n", line.c_str());
  };
  for (const std::string &line : reports.prints)
    show(line);
  if (reports.lost > 0)
    show(fmt::format("{} reports were lost: there is room for {} between two synchronisations", reports.lost,
                     reportCapacity));
  if (reports.failures.empty())
    return {};
  return Error{ErrorKind::execution, textOf(reports.failures)};
}
