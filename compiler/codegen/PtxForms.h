// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forms of PTX instructions: which of them a compiled program has, and a record of the forms that ran.
#pragma once

#include "runtime/support/Result.h"

#include <set>
#include <string>
#include <string_view>

namespace tlc {

/// Each form once: the opcode with its modifiers, and of each operand whether it is a list, an address or one
/// value, as in "ld.global.v4.b32 {}, []". The columns of a wgmma are one form: "m64nNk16".
std::set<std::string> formsOf(std::string_view ptx);

/// Appends the lines "device<tab>form" to a file, in one write: processes may share it.
Result<void> recordForms(const std::string &path, std::string_view device,
                         const std::set<std::string> &forms);

} // namespace tlc
