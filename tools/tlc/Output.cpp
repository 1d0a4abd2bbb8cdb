// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes files.
#include "tools/tlc/Output.h"

#include "runtime/support/Excerpt.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static tlc::Error cannotWrite(StringRef path, std::error_code error) {
  return {tlc::ErrorKind::environment, "cannot write '" + tlc::excerpt(path) + "': " + error.message()};
}

tlc::Result<void> tlc::driver::checkOutput(StringRef path) {
  if (path == "-")
    return {};
  if (std::error_code error = sys::fs::access(path, sys::fs::AccessMode::Write)) {
    if (error != errc::no_such_file_or_directory)
      return cannotWrite(path, error);
    const StringRef folder = sys::path::parent_path(path);
    if (std::error_code unusable = sys::fs::access(folder.empty() ? "." : folder, sys::fs::AccessMode::Write))
      return cannotWrite(path, unusable);
  } else if (sys::fs::is_directory(path)) {
    return cannotWrite(path, make_error_code(errc::is_a_directory));
  }
  return {};
}

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
    return cannotWrite(path, error);
  return {};
}
