// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes files.
#include "tools/tlc/Output.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

tlc::Result<void> tlc::driver::writeOutput(StringRef path, StringRef content) {
  std::error_code error;
  raw_fd_ostream os(path, error, sys::fs::OF_None);
  if (!error) {
    os << content;
    os.flush();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return Error{ErrorKind::environment, ("cannot write '" + path + "': " + error.message()).str()};
  return {};
}
