// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program tree as the C++ that a user would have written.
#pragma once

#include "test/differential/ProgramTree.h"

#include <string>

namespace tlc::differential {

/// The function that traces it, below a comment that says how it is launched.
std::string print(const ProgramTree &tree);

/// Statements, those of all bodies counted.
size_t countStatements(const ProgramTree &tree);

} // namespace tlc::differential
