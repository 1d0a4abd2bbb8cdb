// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a program tree to calls of the language.
#pragma once

#include "compiler/dsl/Program.h"
#include "test/differential/ProgramTree.h"

namespace tlc::differential {

dsl::Program trace(const ProgramTree &tree);

} // namespace tlc::differential
