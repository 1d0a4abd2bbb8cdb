// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/WaitLimit.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace tlc;
using namespace std::chrono_literals;

TEST_CASE("a limit of waits is from a millisecond to a day", "[support]") {
  CHECK(*waitLimitOf(0.001, "wait_limit") == 1ms);
  CHECK(*waitLimitOf(0.0011, "wait_limit") == 1100us);
  CHECK(*waitLimitOf(86400, "wait_limit") == 24h);
  for (const double seconds :
       {0.0, -1.0, 0.000'999'999, 86400.000'001, 1e300, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()})
    CHECK_FALSE(waitLimitOf(seconds, "wait_limit"));
  const Error error = waitLimitOf(90000, "--bounded-waits").error();
  CHECK(error.kind == ErrorKind::invalidArgument);
  CHECK(error.message == "expected --bounded-waits from 0.001 to 86400 seconds, but got 90000");
}

TEST_CASE("the flag of a limit of waits gives it again", "[support]") {
  CHECK(flagOfWaitLimit(0ns) == "");
  CHECK(flagOfWaitLimit(1100us) == " --bounded-waits=0.0011");
  CHECK(flagOfWaitLimit(10s) == " --bounded-waits=10");
}
