// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads and appends lines.
#include "tools/tlc/tune/TuningFiles.h"

#include "kernels/tuning/Tuning.h"
#include "runtime/support/Excerpt.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace tlc;
using namespace tlc::driver;

namespace {

tlc::Error cannot(const char *what, const std::string &path, const std::error_code &error) {
  return {ErrorKind::environment, formatMessage("cannot {} '{}': {}", what, path, error.message())};
}

/// The folder, which is created, and the beginning of the names of the kernel's files in it.
Result<std::string> makeBase(const std::string &folder, std::string_view kernel) {
  std::string name(kernel);
  for (char &each : name)
    if (!llvm::isAlnum(each) && each != '-')
      each = '_';
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return cannot("create", folder, error);
  return (std::filesystem::path(folder) / name).native();
}

/// The process that holds the lock of a file, by the system's list; empty if that does not tell.
std::string holderOf(int file) {
  struct stat status;
  if (::fstat(file, &status) != 0)
    return "";
  const std::string inode =
      fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks"); // "3: FLOCK  ADVISORY  WRITE 4711 fe:01:12345 0 EOF"
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, process, place;
    if (words >> number >> kind >> advisory >> access >> process >> place && kind == "FLOCK" &&
        place == inode)
      return fmt::format(", process {}", process);
  }
  return "";
}

} // namespace

Result<TuningLock> TuningLock::take(const std::string &folder, std::string_view kernel) {
  Result<std::string> base = makeBase(folder, kernel);
  if (!base)
    return base.error();
  const std::string log = *base + ".log";
  const int file = ::open(log.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    return cannot("write", log, {errno, std::generic_category()});
  TuningLock lock(file);
  if (::flock(file, LOCK_EX | LOCK_NB) == 0)
    return std::move(lock);
  if (errno != EWOULDBLOCK)
    return cannot("lock", log, {errno, std::generic_category()});
  return tlc::Error{
      ErrorKind::environment,
      formatMessage("'{}' is in use by another tlc tune{}; wait until that has ended, or give another "
                    "folder by --tuning",
                    log, holderOf(file))};
}

TuningLock::~TuningLock() {
  if (file >= 0)
    ::close(file);
}

Result<TuningFiles> TuningFiles::open(const std::string &folder, std::string_view kernel) {
  Result<std::string> base = makeBase(folder, kernel);
  if (!base)
    return base.error();
  std::error_code error;
  // A malformed line is told before there is more work that might end with it.
  if (Result<kernels::Tuning> read = kernels::Tuning::read(folder); !read)
    return read.error();
  TuningFiles files;
  files.log = *base + ".log";
  files.results = *base + ".jsonl";
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

Result<void> TuningFiles::addResult(const kernels::TuningLine &line) const {
  std::error_code error;
  if (std::filesystem::exists(results, error)) {
    Result<std::string> text = kernels::readTuningFile(results);
    Result<kernels::TuningLines> known = text ? kernels::parseTuningLines(*text, results) : text.error();
    if (!known)
      return known.error();
    const auto last = std::find_if(known->lines.rbegin(), known->lines.rend(),
                                   [&](const kernels::TuningLine &each) { return each.isSameProblem(line); });
    if (last != known->lines.rend() && toJson(*last) == toJson(line))
      return {};
  }
  return append(results, line);
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
