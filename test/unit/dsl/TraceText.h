// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs without mistakes, and what stands in their text.
#pragma once

#include "compiler/dsl/dsl.h"

#include <catch2/catch.hpp>

namespace tlc::dsl {

inline std::string trace(const std::function<void(Scope &)> &body, const TraceOptions &options = {}) {
  Program program = Program::trace("test", options, body);
  INFO(program.errorText());
  REQUIRE(program.ok());
  return program.text();
}

/// Whether the parts stand in the text in this order.
inline void checkOrder(const std::string &text, std::initializer_list<std::string_view> parts) {
  INFO(text);
  size_t from = 0;
  for (std::string_view part : parts) {
    INFO(part);
    size_t found = text.find(part, from);
    REQUIRE(found != std::string::npos);
    from = found + part.size();
  }
}

inline size_t count(const std::string &text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

} // namespace tlc::dsl
