// SPDX-License-Identifier: Apache-2.0
/// \file
/// A name for this very build of the compiler.
#pragma once

#include <string>

namespace tlc::kernels {

/// The identifiers that the linker gave the library or program that this function is part of, and the library
/// of the runtime if that is another: equal identifiers, equal code. Empty if one has none.
std::string buildId();

} // namespace tlc::kernels
