// SPDX-License-Identifier: Apache-2.0
/// \file
/// The emulator's findings as JSON.
#pragma once

#include "runtime/emulator/report/Finding.h"

#include "llvm/Support/JSON.h"

namespace tlc::driver {

/// The attribute "findings": an array, empty when there are none.
void writeFindings(llvm::json::OStream &os, const Findings &findings);

} // namespace tlc::driver
