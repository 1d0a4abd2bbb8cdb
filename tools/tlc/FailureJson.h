// SPDX-License-Identifier: Apache-2.0
/// \file
/// Why a command failed, as JSON.
#pragma once

#include "compiler/pipeline/Diagnostics.h"
#include "runtime/support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace tlc::driver {

/// Prints an object to standard output: the error, and "diagnostics", an array of objects with kind, file,
/// line, column, message and notes.
void printFailureJson(const Error &error, llvm::ArrayRef<Diagnostic> diagnostics);

/// Errors and warnings, with their notes, in what GCC or clang prints.
std::vector<Diagnostic> parseCompilerOutput(llvm::StringRef output);

} // namespace tlc::driver
