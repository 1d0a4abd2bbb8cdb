// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a file of kernels to a shared object, by the C++ compiler of this machine, through a cache.
#pragma once

#include "runtime/cache/CacheOptions.h"
#include "runtime/support/Result.h"

#include <optional>
#include <string>
#include <vector>

namespace tlc::kernels {

struct HostCompilerOptions {
  /// A path or a name on PATH; empty: $CXX, or the first of clang++, clang++-22, g++ and c++ that is new
  /// enough.
  std::string compiler = {};
  std::vector<std::string> flags = {}; ///< after ours
  std::string *output = nullptr;       ///< what the compiler prints; null: it goes to standard error
  CacheOptions cache = {};             ///< where what files are compiled to is kept
};

/// A file that is compiled. Its code may be loaded from the descriptor, which is memory of this process.
struct SharedObject {
  Descriptor file;
  std::string code;                       ///< a name for its contents
  std::optional<std::string> remark = {}; ///< why it is not kept
};

/// What the compiler says goes to `output` or to standard error. The cache keeps an object by all that it
/// depends on: the preprocessed text, the compiler, its flags and variables and this build of tlc. What
/// changes while it is compiled is compiled again. A folder that cannot be trusted or written is not used,
/// and the file is compiled each time.
Result<SharedObject> compileFile(const std::string &source, const HostCompilerOptions &options);

/// The folder of the headers, beside the libraries: `include`, with `tlc/kernel.h` in it.
Result<std::string> headerFolder();

} // namespace tlc::kernels
