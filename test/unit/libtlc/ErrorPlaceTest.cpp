// SPDX-License-Identifier: Apache-2.0
/// \file
/// The source line that an error's text names.
#include "tools/libtlc/ErrorPlace.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tlc;

namespace {

std::string textOf(std::string_view error) {
  const std::optional<ErrorPlace> place = placeOf(error);
  if (!place)
    return "none";
  return std::string(place->file) + " " + std::to_string(place->line) + " " + std::to_string(place->column);
}

} // namespace

TEST_CASE("the first line that begins with a place has the place of an error", "[libtlc]") {
  CHECK(textOf("a.cpp:12:3: error: no") == "a.cpp 12 3");
  CHECK(textOf("kernel 'k' does not compile\n/my files/a.cpp:1:2: error: x\nb.cpp:3:4: error: y") ==
        "/my files/a.cpp 1 2");
  CHECK(textOf("  C:odd.cpp:7:70: note: here") == "C:odd.cpp 7 70");
  CHECK(textOf("In file included from a.cpp:1:\nb.h:2:3: error: x") == "b.h 2 3");
  for (const char *error : {"", "\n\n", ":", ":1:2: ", "line 2: expected x:1:2: y", "a.cpp:12: error",
                            "a.cpp:0:1: x", "a.cpp:1:0: x", "a.cpp:-1:2: x", "a.cpp:1:2",
                            "a.cpp:1:2:", "a.cpp:1:2 : ", "a.cpp:99999999999:2: x", "a.cpp:1x:2: "}) {
    INFO(error);
    CHECK(textOf(error) == "none");
  }
}
