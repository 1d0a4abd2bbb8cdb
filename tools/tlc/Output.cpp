// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes files.
#include "tools/tlc/Output.h"

#include "runtime/support/Excerpt.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

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

tlc::Result<void> tlc::driver::writeOutputs(ArrayRef<OutputFile> files) {
  std::vector<sys::fs::TempFile> temporaries;
  const auto failed = [&](StringRef path, std::error_code error) {
    for (sys::fs::TempFile &temporary : temporaries)
      consumeError(temporary.discard());
    return cannotWrite(path, error);
  };
  for (const OutputFile &file : files) {
    Expected<sys::fs::TempFile> temporary = sys::fs::TempFile::create(file.path + ".%%%%%%");
    if (!temporary)
      return failed(file.path, errorToErrorCode(temporary.takeError()));
    temporaries.push_back(std::move(*temporary));
    raw_fd_ostream os(temporaries.back().FD, /*shouldClose=*/false);
    os << file.content;
    os.flush();
    const std::error_code error = os.error();
    os.clear_error();
    if (error)
      return failed(file.path, error);
  }
  for (const auto &[temporary, file] : zip(temporaries, files))
    if (llvm::Error error = temporary.keep(file.path))
      return failed(file.path, errorToErrorCode(std::move(error)));
  return {};
}
