// SPDX-License-Identifier: Apache-2.0
/// \file
/// Keys name content: known values of the hash, and no confusion of parts.
#include "runtime/cache/Key.h"

#include <catch2/catch.hpp>
#include <set>

using namespace tlc;

namespace {

std::string fnv1a(std::string_view text) {
  Hash128 hash;
  hash.update(std::as_bytes(std::span(text)));
  return Key{hash}.toHex();
}

} // namespace

TEST_CASE("the hash is FNV-1a with 128 bits", "[cache][key]") {
  // The published test vectors.
  CHECK(fnv1a("") == "6c62272e07bb014262b821756295c58d");
  CHECK(fnv1a("a") == "d228cb696f1a8caf78912b704e4a8964");
  CHECK(fnv1a("foobar") == "343e1662793c64bf6f0d3597ba446f18");
}

TEST_CASE("keys tell apart how content is divided into parts", "[cache][key]") {
  std::set<std::string> keys;
  for (auto [first, second] : {std::pair("ab", "c"), std::pair("a", "bc"), std::pair("", "abc")})
    CHECK(keys.insert(KeyBuilder().add(first).add(second).finish().toHex()).second);
  CHECK(keys.insert(KeyBuilder().add("abc").finish().toHex()).second);
  CHECK(keys.insert(KeyBuilder().add(int64_t(-1)).finish().toHex()).second);
  CHECK(keys.insert(KeyBuilder().add(int64_t(1)).finish().toHex()).second);
}

TEST_CASE("equal parts give equal keys", "[cache][key]") {
  auto build = [] { return KeyBuilder().add("gemm").add(int64_t(4096)).add("sm_90a").finish(); };
  CHECK(build() == build());
  CHECK(build().toHex().size() == 32);
}

TEST_CASE("a key is read from its digits", "[cache][key]") {
  const Key key = KeyBuilder().add("gemm").finish();
  CHECK(Key::parse(key.toHex()) == key);
  for (const char *text : {"", "b7575ad8", "B7575AD8FC713E204B5AA68438042062",
                           "g7575ad8fc713e204b5aa68438042062", "b7575ad8fc713e204b5aa684380420620"})
    CHECK_FALSE(Key::parse(text));
}
