// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads and appends lines.
#include "tools/tlc/tune/TuningFiles.h"

#include "kernels/tuning/Tuning.h"
#include "runtime/support/Excerpt.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::driver;

namespace {

tlc::Error cannot(const char *what, const std::string &path, const std::error_code &error) {
  return {ErrorKind::environment, formatMessage("cannot {} '{}': {}", what, path, error.message())};
}

} // namespace

Result<TuningFiles> TuningFiles::open(const std::string &folder, std::string_view kernel) {
  std::string name(kernel);
  for (char &each : name)
    if (!llvm::isAlnum(each) && each != '-')
      each = '_';
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return cannot("create", folder, error);
  // A malformed line is told before there is more work that might end with it.
  if (Result<kernels::Tuning> read = kernels::Tuning::read(folder); !read)
    return read.error();
  TuningFiles files;
  const std::filesystem::path base = std::filesystem::path(folder) / name;
  files.log = base.native() + ".log";
  files.results = base.native() + ".jsonl";
  if (!std::filesystem::exists(files.log, error))
    return files;
  Result<std::string> text = kernels::readTuningFile(files.log);
  if (!text)
    return text.error();
  const size_t end = text->rfind('\n') + 1; // 0 where there is none
  if (end != text->size()) {
    text->resize(end);
    std::filesystem::resize_file(files.log, end, error);
    if (error)
      return cannot("write", files.log, error);
    files.itsRemark = formatMessage("the last line of '{}' was cut short, and is removed", files.log);
  }
  Result<kernels::TuningLines> lines = kernels::parseTuningLines(*text, files.log);
  if (!lines)
    return lines.error();
  files.lines = std::move(lines->lines);
  if (lines->ofOtherVersions)
    files.itsRemark =
        formatMessage("{} line(s) of '{}' are ignored because they are of another version of the "
                      "format than {}",
                      lines->ofOtherVersions, files.log, kernels::tuningVersion);
  return files;
}

Result<void> TuningFiles::append(const std::string &file, const kernels::TuningLine &line) {
  std::error_code error;
  std::string text = toJson(line) + '\n';
  if (uint64_t bytes = 0; !llvm::sys::fs::file_size(file, bytes) && bytes > 0)
    if (Result<std::string> before = kernels::readTuningFile(file); before && !before->ends_with('\n'))
      text.insert(0, 1, '\n');
  // In one piece, so that others may append at the same time.
  llvm::raw_fd_ostream os(file, error, llvm::sys::fs::OF_Append);
  if (error)
    return cannot("write", file, error);
  os.SetBufferSize(text.size() + 1);
  os << text;
  os.close();
  error = os.error();
  os.clear_error();
  return error ? Result<void>(cannot("write", file, error)) : Result<void>();
}
