// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `tlc run` prints of a report beside the results: its origin, and whether the outputs are the same.
#pragma once

#include "tools/tlc/Messages.h"
#include "tools/tlc/ReportedKernel.h"

#include "llvm/Support/CommandLine.h"

#include <chrono>

namespace tlc::driver {

/// "tlc 0.1.0", which is this build's, and LLVM's version.
std::string ownVersion();
std::string llvmVersion();

/// An error if a flag was given that a report decides.
Result<void> checkFree(const llvm::cl::SubCommand &command, const std::string &file);

/// Prints to standard error where the report comes from and how its run ended; of a run that is verified also
/// what it is compared with.
void printHistory(const ReportedKernel &reported, bool verify);

/// Prints whether a failure is the report's.
void printSameness(const report::Report &report, const std::string &error);

/// Compares a digest with the report's. Status 1 if it is another one, or if the report's run failed.
ExitCode checkOutputs(const ReportedKernel &reported, const std::string &digest, Format format);

/// The crash reproducer of a report's program, which does not compile; an error where it does. `limit` is for
/// the process that compiles it.
Result<std::string> reproducerOf(const std::string &bytes, const std::string &file,
                                 std::chrono::seconds limit);

} // namespace tlc::driver
