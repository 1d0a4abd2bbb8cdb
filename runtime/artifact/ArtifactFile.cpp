// SPDX-License-Identifier: Apache-2.0
/// \file
/// Artifacts in files. A file appears whole or not at all.
#include "runtime/artifact/Serialize.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tlc;

namespace {

Error fileError(std::string_view action, const std::string &path, int code) {
  return {ErrorKind::environment, fmt::format("cannot {} '{}': {}", action, path, std::strerror(code))};
}

bool writeAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes = bytes.subspan(written);
  }
  return true;
}

} // namespace

Result<void> tlc::writeArtifact(const std::string &path, const Artifact &artifact) {
  // Beside the destination, so that the rename stays within one file system.
  std::string temporary = path + ".XXXXXX";
  int file = ::mkstemp(temporary.data());
  if (file < 0)
    return fileError("create", temporary, errno);
  bool written = writeAll(file, serialize(artifact)) && ::fchmod(file, 0644) == 0 && ::fsync(file) == 0;
  int code = errno;
  if (::close(file) != 0 && written) {
    written = false;
    code = errno;
  }
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  if (written)
    code = errno;
  ::unlink(temporary.c_str());
  return fileError("write", path, code);
}

Result<Artifact> tlc::readArtifact(const std::string &path) {
  FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return fileError("open", path, errno);
  std::vector<std::byte> bytes;
  std::array<std::byte, 65536> block;
  while (size_t got = std::fread(block.data(), 1, block.size(), file))
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
  int code = std::ferror(file) ? errno : 0;
  std::fclose(file);
  if (code != 0)
    return fileError("read", path, code);
  Result<Artifact> artifact = deserialize(bytes);
  if (!artifact)
    return Error{artifact.error().kind, fmt::format("'{}': {}", path, artifact.error().message)};
  return artifact;
}
