// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `tlc` says on standard error: the compiler's diagnostics with their
/// source lines, and errors of its own.
#pragma once

#include "compiler/pipeline/Diagnostics.h"
#include "kernels/library/Library.h"
#include "runtime/emulator/report/Finding.h"
#include "runtime/support/Result.h"
#include "tools/tlc/ExitCode.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace tlc::driver {

enum class Remarks { hide, show };

/// Of what a command reports on standard output. Why it failed is text on standard error in both.
enum class Format { text, json };

/// Prints each diagnostic with its source line and a caret, where the file can be read.
void print(llvm::ArrayRef<Diagnostic> diagnostics, Remarks remarks);

/// Prints what the compiler chose and why not better.
void printRemarks(const Artifact &artifact);

/// Says which sizes are the emulator's instead of the usual defaults, where some are.
void printEmulatorSizes(const kernels::Request &request);

/// Prints what a compilation said, and the error if that has none. Returns the exit code.
ExitCode failCompile(const Error &error, llvm::ArrayRef<Diagnostic> diagnostics, Format format);

/// Prints `tlc: error: message`, and gives back how to end because of it.
ExitCode fail(llvm::StringRef message);
ExitCode failUsage(llvm::StringRef message);
/// As a wrong use where the error is one. `ofFile` is what the C++ compiler printed about a file of kernels.
ExitCode failBy(const Error &error, llvm::ArrayRef<Diagnostic> ofFile = {}, Format format = Format::text);

/// Prints the warnings among what the emulator found.
void printWarnings(const Findings &findings);

/// Whether a stream ends on a terminal with colours, and NO_COLOR is not set (no-color.org).
bool showsColours(llvm::raw_ostream &os);

/// "a, b, c"
std::string joinNames(llvm::ArrayRef<llvm::StringRef> names);

} // namespace tlc::driver
