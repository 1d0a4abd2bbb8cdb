// SPDX-License-Identifier: Apache-2.0
/// \file
/// One program: compiled with and without optimisations, run under several schedules, and compared with its
/// meaning.
#pragma once

#include "test/differential/ProgramTree.h"

#include <set>
#include <string>

namespace tlc::differential {

enum class Verdict : uint8_t {
  right,
  // No failures.
  discarded, ///< its result is not specified, or a comparison is too close to call
  refused,   ///< it needs more than there is of a resource, and the compiler says so
  // Failures.
  mistake,    ///< the language refuses the program: it is the generator's, or the language's
  evaluator,  ///< the evaluator has no rule
  refusal,    ///< the compiler refuses it without a user's reason
  internal,   ///< the compiler contradicts itself
  slow,       ///< compiling takes too long
  launch,     ///< the launch is refused
  finding,    ///< the emulator's checker, a trap, a deadlock
  wrong,      ///< a number
  strayWrite, ///< a write outside of the outputs
  crash,
  hang,
};
constexpr bool isFailure(Verdict verdict) { return verdict >= Verdict::mistake; }
std::string_view nameOf(Verdict verdict);
std::optional<Verdict> parseVerdict(std::string_view name);

struct Outcome {
  Verdict verdict = Verdict::right;
  std::string message = {}; ///< what is wrong, and in which of the runs
  bool isExact = false;     ///< every element was compared bit for bit
  std::set<std::string> operations = {}, remarks = {};
  std::set<std::string> forms = {}; ///< of the instructions of what ran; see compiler/codegen/PtxForms.h
};

enum class RunOn : uint8_t {
  emulator,
  gpu,
  nothing, ///< programs are compiled, and not evaluated
};

struct CompareOptions {
  RunOn device = RunOn::emulator;
  bool allSubsets = false;    ///< of optimisations, instead of one
  std::string ptxFolder = {}; ///< where the PTX of each variant is written; empty: nowhere
};

Outcome compare(const ProgramTree &tree, const CompareOptions &options);

/// The program in phase `input`, or why it is none.
std::string moduleText(const ProgramTree &tree);

} // namespace tlc::differential
