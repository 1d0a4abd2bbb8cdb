// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs that are run on the emulator as they are, and with one of their
/// synchronisations taken away.
#pragma once

#include "compiler/dsl/dsl.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/emulator/report/Finding.h"
#include "tools/mutate/Mutants.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tlc::hazards {

using Values = std::map<std::string, int64_t, std::less<>>;
/// Lines of this program's source.
using Lines = std::set<unsigned>;

/// The line below the call.
inline unsigned lineBelow(dsl::Loc loc = dsl::Loc::current()) { return loc.line() + 1; }

/// A program, compiled; every run has fresh inputs.
class Subject {
public:
  /// Fails the running test if the program does not compile.
  Subject(dsl::Program program, Values dimensions);

  /// Fails the test unless a run as it is succeeds.
  void checkClean() const;
  /// What a run as it is finds.
  Findings findings() const { return findingsOf(ptx()); }
  /// What a run with another module in place of its own finds.
  Findings findingsOf(const std::string &module) const;
  /// Fails the test unless each mutant with that change, of each instruction whose name begins so and that
  /// stands at one of the lines, is found at lines of `expected`; or if there is none.
  void checkMissed(std::string_view instruction, mutate::Change change, const Lines &at,
                   const Lines &expected, const std::set<FindingKind> &kinds) const;

  const std::string &ptx() const { return artifact.variants.front().ptx; }

private:
  Artifact artifact;
  Values dimensions;
};

/// Whether there is a finding of one of the kinds whose places, one or two, are all at `lines`.
bool names(const Findings &findings, const std::set<FindingKind> &kinds, const Lines &lines);

} // namespace tlc::hazards
