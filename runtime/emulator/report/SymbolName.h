// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names of functions as their authors wrote them.
#pragma once

#include <string>
#include <string_view>

namespace tlc::emulator {

/// "axpy" of "_Z4axpyPfS_i", "ns::sum<float>" of its mangled name: without parameters and result, and with
/// "<...>" for long template arguments. Other names stay.
std::string readableName(std::string_view symbol);

} // namespace tlc::emulator
