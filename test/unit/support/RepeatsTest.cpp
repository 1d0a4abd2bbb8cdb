// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which messages count as the same.
#include "runtime/support/Repeats.h"

#include <catch2/catch.hpp>

using namespace tlc;

TEST_CASE("texts that differ in numbers alone are equal but for these", "[support]") {
  CHECK(equalButForNumbers("", ""));
  CHECK(equalButForNumbers("row 1 of 'a0'", "row 100 of 'a23'"));
  CHECK(equalButForNumbers("but got 7", "but got 56"));
  CHECK_FALSE(equalButForNumbers("row 1", "row x"));
  CHECK_FALSE(equalButForNumbers("row 1", "row "));
  CHECK_FALSE(equalButForNumbers("row", "row 1"));
  CHECK_FALSE(equalButForNumbers("1 row", "1 rows"));
  CHECK_FALSE(equalButForNumbers("12", "1a2"));
}

TEST_CASE("a message is counted with the first one like it, from the given one on", "[support]") {
  struct Message {
    std::string message;
    int place;
    unsigned count = 1;
  };
  const auto samePlace = [](const Message &a, const Message &b) { return a.place == b.place; };
  std::vector<Message> messages;
  addOrCount(messages, {"row 1", 7}, samePlace);
  addOrCount(messages, {"row 2", 8}, samePlace);
  CHECK(&addOrCount(messages, {"row 3", 7, 2}, samePlace) == &messages[0]);
  addOrCount(messages, {"column 1", 7}, samePlace);
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].message == "row 1");
  CHECK(messages[0].count == 3);
  addOrCount(messages, {"row 1", 7}, samePlace, 3);
  CHECK(messages.size() == 4);
  CHECK(timesText(1).empty());
  CHECK(timesText(8) == " (8 times)");
}
