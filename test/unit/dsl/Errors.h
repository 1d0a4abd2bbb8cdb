// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs with one mistake each, and what is said about it.
#pragma once

#include "compiler/dsl/dsl.h"

#include <catch2/catch.hpp>

namespace tlc::dsl {

/// The only error of a program, with its notes: messages alone, one per line.
inline std::string errorOf(const std::function<void(Scope &)> &body, const TraceOptions &options = {}) {
  Program program = Program::trace("test", options, body);
  INFO(program.errorText());
  REQUIRE(program.errors().size() == 1);
  CHECK_FALSE(program.ok());
  CHECK(program.text().empty());
  const Diagnostic &error = program.errors().front();
  CHECK(error.position.file.starts_with("test/unit/dsl/"));
  CHECK(error.position.line != 0);
  std::string text = error.message;
  for (const Note &note : error.notes) {
    CHECK(note.position.line != 0);
    text += "\n" + note.message;
  }
  return text;
}

} // namespace tlc::dsl
