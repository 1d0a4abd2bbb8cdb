// SPDX-License-Identifier: Apache-2.0
/// \file
/// The observer of launches that looks for races.
#pragma once

#include "runtime/emulator/check/RaceCheck.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/report/Finding.h"

namespace tlc::emulator {

struct LaunchOrder;

/// For a machine's launches; nothing if the check is off. `order` is what comes
/// before the launch, and takes what it learns of other devices; null: it runs alone.
MakeLaunchObserver observeRaces(RaceCheck check, LaunchOrder *order = nullptr);
/// The least level of a finding that makes a launch fail.
inline FindingLevel failsBy(RaceCheck check) {
  return check == RaceCheck::strict ? FindingLevel::warning : FindingLevel::error;
}

} // namespace tlc::emulator
