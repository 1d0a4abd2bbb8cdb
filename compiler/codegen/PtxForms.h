// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forms of PTX instructions: which of them a compiled program has, and a record of the forms that ran.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <set>
#include <string>

namespace tlc {

/// Each form once: the opcode with its modifiers, and of each operand whether it is a list, an address or one
/// value, as in "ld.global.v4.b32 {}, []". The columns of a wgmma are one form: "m64nNk16".
std::set<std::string> formsOf(llvm::StringRef ptx);

/// Appends the lines "device<tab>form" to a file, in one write: processes may share it.
llvm::Error recordForms(llvm::StringRef path, llvm::StringRef device, const std::set<std::string> &forms);

} // namespace tlc
