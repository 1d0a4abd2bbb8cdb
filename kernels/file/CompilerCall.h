// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds the C++ compiler of this machine and runs it, in a process that ends with this one.
#pragma once

#include "runtime/support/Result.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::kernels {

/// A program and its arguments.
using CommandLine = std::vector<std::string>;

struct HostCompiler {
  std::string path;
  bool isClang = false; ///< or GCC
};

/// `named`, a path or a name on PATH, or as `HostCompilerOptions::compiler` says where it is empty.
Result<HostCompiler> findCompiler(const std::string &named);

/// Its path, size and time of change. It differs where another compiler takes the place of this one.
std::string identityOf(const HostCompiler &compiler);

/// All that the compiler reads of a file and of its headers: their lines in the preprocessor's order,
/// unchanged, without those that conditions leave out. Nothing if the preprocessor fails. An error if it does
/// not end.
Result<std::optional<std::string>> preprocess(const HostCompiler &compiler, const CommandLine &flags,
                                              const std::string &source);

/// What makes the compiler read files that are not in the preprocessed text: `#embed` or `.incbin`; empty if
/// there is neither.
std::string_view readerIn(std::string_view text);

/// Compiles. Intermediate files are in `temporaries`. `onKill` as `ChildProcess::start` takes it. The error
/// says how the compiler ended, which has said why in `output` or, if that is null, on standard error.
Result<void> runCompiler(const CommandLine &command, const std::filesystem::path &temporaries,
                         const std::function<void()> &onKill, std::string *output);

/// The first flag that may make the compiler or linker read files other than the preprocessor's; nothing if
/// all flags are known not to.
std::optional<std::string> flagThatReads(const std::vector<std::string> &flags);

/// The folder that TMPDIR names, or /tmp where that does not exist.
std::filesystem::path systemTemporaries();

} // namespace tlc::kernels
