// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages repeat no more than the beginning of a long text.
#include "runtime/support/Excerpt.h"

#include <catch2/catch.hpp>
#include <fmt/ranges.h>

using namespace tlc;

TEST_CASE("a text of up to 200 bytes is repeated as it is", "[support][excerpt]") {
  CHECK(excerpt("").empty());
  CHECK(excerpt("gemm") == "gemm");
  CHECK(excerpt(std::string(mostQuoted, 'x')) == std::string(mostQuoted, 'x'));
}

TEST_CASE("of a longer text the beginning is repeated, and its length said", "[support][excerpt]") {
  CHECK(excerpt(std::string(100'000'000, 'x')) == std::string(mostQuoted, 'x') + "... (100000000 bytes)");
}

TEST_CASE("a character of several bytes is kept whole or left out", "[support][excerpt]") {
  const std::string before(mostQuoted - 1, 'x');
  CHECK(excerpt(before + "ä and more") == before + "... (210 bytes)");
  CHECK(excerpt(before.substr(1) + "ä and more") == before.substr(1) + "ä... (209 bytes)");
  // Bytes that are no UTF-8 are cut anywhere.
  CHECK(excerpt(std::string(300, '\x80')).size() < 230);
}

TEST_CASE("in messages texts are excerpts, and all else is as it is", "[support][excerpt]") {
  const std::string text(300, 'x'), beginning = std::string(mostQuoted, 'x') + "... (300 bytes)";
  CHECK(formatMessage("'{}', '{}', {:#x}, {}", text, std::string_view(text), 16, fmt::join({1, 2}, ", ")) ==
        "'" + beginning + "', '" + beginning + "', 0x10, 1, 2");
}
