// SPDX-License-Identifier: Apache-2.0
/// \file
/// No text of a user controls a terminal.
#include "runtime/support/Printable.h"

#include <catch2/catch.hpp>

using namespace tlc;

TEST_CASE("a printable text is one line without control characters", "[support]") {
  CHECK(printable("plain ä €", 100) == "plain ä €");
  CHECK(printable("\x1b[31m\n\t\x7f", 100) == "\\x1b[31m\\n\\t\\x7f");
  CHECK(printable("\xff \xc3 \xc2\x9b", 100) == "\\xff \\xc3 \\xc2\\x9b");
  CHECK(printable(std::string(1, '\0'), 100) == "\\x00");
}

TEST_CASE("a long text is cut between characters", "[support]") {
  CHECK(printable(std::string(3000, 'x'), 2000) == std::string(2000, 'x') + "... (3000 bytes)");
  CHECK(printable("xxä", 3) == "xx... (4 bytes)");
  CHECK(printable("xxä", 4) == "xxä");
}
