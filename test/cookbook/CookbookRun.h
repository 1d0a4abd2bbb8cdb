// SPDX-License-Identifier: Apache-2.0
/// \file
/// One kernel on one problem, on the emulator with its checker on and its outputs poisoned, against its
/// reference in double precision.
#pragma once

#include "kernels/harness/Problem.h"

#include <string>
#include <string_view>
#include <vector>

namespace tlc::kernels::test {

/// A kernel in each line of a table, and the values of its parameters besides the emulator's sizes; other
/// words are notes.
struct CookbookProblem {
  std::string kernel;
  Definitions values = {};
  std::vector<std::string> notes = {};
};
std::vector<CookbookProblem> parseProblems(std::string_view table);

/// Rows of tensors are adjacent in memory, or begin anywhere that the program allows.
enum class Rows : uint8_t { adjacent, apart };

/// Fails the running test unless every element is right.
void check(const Kernel &kernel, const Definitions &given, Rows rows = Rows::adjacent,
           const InputChange &change = {});

} // namespace tlc::kernels::test
