// SPDX-License-Identifier: Apache-2.0
/// \file
/// A directory of a test's own, removed afterwards.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tlc::test {

struct TemporaryDirectory {
  std::filesystem::path path;
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "tlc-test-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()));
    path = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
};

} // namespace tlc::test
