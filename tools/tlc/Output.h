// SPDX-License-Identifier: Apache-2.0
/// \file
/// Results in a file or on standard output.
#pragma once

#include "runtime/support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tlc::driver {

/// An error if the file cannot be written, known before the work for it begins; "-" is standard output.
Result<void> checkOutput(llvm::StringRef path);
/// Writes a file whole; "-" is standard output.
Result<void> writeOutput(llvm::StringRef path, llvm::StringRef content);

struct OutputFile {
  llvm::StringRef path, content;
};
/// Writes files that belong together: to temporary files next to them, which get their names once all are
/// written.
Result<void> writeOutputs(llvm::ArrayRef<OutputFile> files);

} // namespace tlc::driver
