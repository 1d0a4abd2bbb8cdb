// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names of builds, which the linker writes into libraries and programs (--build-id), in hexadecimal digits.
#pragma once

#include "runtime/support/Result.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace tlc {

/// Of the loaded image that has this code; empty if it has none.
std::string buildIdOf(const void *code);

/// Of a shared object, which is not loaded for that; empty if it has none. An error if it is no ordinary file
/// that can be read, or is cut short.
Result<std::string> buildIdOfFile(const std::filesystem::path &path);

/// What names entries of the cache: the compiler's build, and that of this runtime, which has facts about
/// targets and the form of artifacts. Empty if one of them has no name.
std::string buildOfPrograms(std::string_view compiler);

} // namespace tlc
