// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tracing has to say about the user's mistakes.
#pragma once

#include <string>
#include <vector>

namespace tlc::dsl::inline v1 {

/// A place in the user's source.
struct Position {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  bool operator==(const Position &) const = default;
};

struct Note {
  Position position;
  std::string message;
};

/// One mistake: an error and the places that explain it.
struct Diagnostic {
  Position position;
  std::string message;
  std::vector<Note> notes = {};
  unsigned count =
      1; ///< how often this place made it, with other numbers or the same; the first stands for all
};

/// `file:line:column: error: ...`, then a line per note.
std::string toString(const Diagnostic &diagnostic);

} // namespace tlc::dsl::inline v1
