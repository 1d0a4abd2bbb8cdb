// SPDX-License-Identifier: Apache-2.0
/// \file
/// A name for this very build of the compiler.
#pragma once

#include <string>

namespace tlc::kernels {

/// The identifier that the linker gave the library or program that this function is part of: equal
/// identifiers, equal code. Empty if it has none.
std::string buildId();

} // namespace tlc::kernels
