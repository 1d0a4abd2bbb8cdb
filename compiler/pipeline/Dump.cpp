// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files of phases.
#include "compiler/pipeline/Dump.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;

Error tlc::dumpPhase(StringRef directory, Phase phase, StringRef text) {
  if (std::error_code error = sys::fs::create_directories(directory))
    return createStringError(error, "cannot make the folder '" + directory + "': " + error.message());
  StringRef extension = phase == Phase::ptx ? "ptx" : phase == Phase::llvm ? "ll" : "mlir";
  SmallString<128> path(directory);
  sys::path::append(path, formatv("{0:02}-{1}.{2}", unsigned(phase), toString(phase), extension).str());
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (!error) {
    os << text;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return createStringError(error, "cannot write '" + path + "': " + error.message());
  return Error::success();
}
