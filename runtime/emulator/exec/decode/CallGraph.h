// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who may call whom in a module.
#pragma once

#include "runtime/emulator/ptx/Module.h"
#include "runtime/support/Result.h"

#include <set>
#include <span>
#include <vector>

namespace tlc::emulator {

/// Whether a call is one of a pointer.
bool isIndirectCall(const Statement &call);
/// The functions whose address the module takes somewhere.
std::vector<const Function *> functionsPointedTo(const Module &module);
/// What the entry may call, callees before their callers, the entry last.
Result<std::vector<const Function *>> functionsCalledBy(const Module &module, const Function &entry);
/// Of these the functions that may be active more than once in a thread, or lead to such.
std::set<const Function *> recursiveFunctions(const Module &module,
                                              std::span<const Function *const> functions);

} // namespace tlc::emulator
