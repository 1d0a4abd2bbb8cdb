// SPDX-License-Identifier: Apache-2.0
/// \file
/// Results that a test cannot go on without.
#pragma once

#include "runtime/support/Result.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace tlc::test {

template <class T> T expectValue(Result<T> result) {
  INFO((result ? std::string() : result.error().message));
  REQUIRE(bool(result));
  return std::move(*result);
}

inline void expectSuccess(const Result<void> &result) {
  INFO((result ? std::string() : result.error().message));
  REQUIRE(bool(result));
}

} // namespace tlc::test
