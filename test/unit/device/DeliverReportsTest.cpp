// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a launch's reports come to.
#include "runtime/device/DeliverReports.h"

#include <catch2/catch.hpp>

using namespace tlc;

namespace {
std::string errorOf(const Reports &reports, Result<void> done = {}) {
  Result<void> delivered = deliver(reports, [](std::string_view) {}, std::move(done));
  return delivered ? "" : delivered.error().message;
}
} // namespace

TEST_CASE("failed checks come after another error, unless it may follow from a wait that has ended",
          "[device][reports]") {
  Reports reports;
  CHECK(errorOf(reports) == "");
  reports.failures = {"a.cpp:1:2: check failed"};
  const Error race{ErrorKind::execution, "a race"};
  CHECK(errorOf(reports) == "1 check failed\n  a.cpp:1:2: check failed");
  CHECK(errorOf(reports, race) == "a race\n1 check failed\n  a.cpp:1:2: check failed");
  reports.endsWaits = true;
  CHECK(errorOf(reports, race) == "1 check failed\n  a.cpp:1:2: check failed\na race");
}
