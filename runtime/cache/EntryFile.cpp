// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/EntryFile.h"

#include "runtime/support/Excerpt.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tlc;

namespace {

/// A file that grows beyond what the process may write is an error here, not the signal that ends it.
class FileSizeSignal {
public:
  FileSizeSignal() {
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
  }
  FileSizeSignal(const FileSizeSignal &) = delete;
  ~FileSizeSignal() {
    const timespec now = {};
    while (sigtimedwait(&blocked, nullptr, &now) > 0)
      ;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  sigset_t blocked, before;
};

bool writeAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes = bytes.subspan(size_t(written));
  }
  return true;
}

/// Where files cannot be locked: after this time no process writes a file any more.
constexpr int64_t abandonedAfter = 600;

/// Locks a file that was just created. False if another process took it for abandoned, and removed it.
bool lockNew(const Descriptor &file, const std::filesystem::path &path) {
  struct stat own = {}, named = {};
  return (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
         ::fstat(file.get(), &own) == 0 && ::lstat(path.c_str(), &named) == 0 && own.st_ino == named.st_ino;
}

constexpr uid_t rootUser = 0;

constexpr int attempts = 100; ///< at a name that no other process has

/// A new file whose name begins with `name`. Names of processes of other machines may be taken.
Descriptor createTemporary(const Descriptor &folder, const std::string &name,
                           const std::filesystem::path &path, std::string &temporary) {
  static std::atomic<unsigned> count = 0;
  for (int i = 0; i != attempts; ++i) {
    temporary = fmt::format("{}.{}.{}", name, ::getpid(), count++);
    Descriptor file(::openat(folder.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if ((file && lockNew(file, path.parent_path() / temporary)) || (!file && errno != EEXIST))
      return file;
  }
  return {};
}

/// Status of an open file; an error if users other than this one and root may have written it.
Result<struct stat> checkOwner(const Descriptor &file, std::string_view what,
                               const std::filesystem::path &path) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0)
    return fileError("examine", path, errno);
  const auto untrusted = [&](const std::string &why) {
    return Error{ErrorKind::environment,
                 formatMessage("the {} '{}' is not used because {}", what, path.native(), why)};
  };
  if (status.st_uid != ::geteuid() && status.st_uid != rootUser)
    return untrusted(fmt::format("it belongs to user {}, not to user {}", status.st_uid, ::geteuid()));
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return untrusted(fmt::format("others may write it (mode {:o}); 'chmod go-w' forbids them",
                                 status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)));
  return status;
}

} // namespace

Descriptor::~Descriptor() {
  if (number >= 0)
    ::close(number);
}

Error tlc::fileError(std::string_view action, const std::filesystem::path &path, int code) {
  return {ErrorKind::environment,
          formatMessage("cannot {} '{}': {}", action, path.native(), std::strerror(code))};
}

Result<void> tlc::createFolder(const std::filesystem::path &path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST)
    return {};
  if (const std::filesystem::path above = path.parent_path();
      errno == ENOENT && !above.empty() && above != path) {
    if (Result<void> made = createFolder(above); !made)
      return made;
    if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST)
      return {};
  }
  return fileError("create the cache directory", path, errno);
}

Result<Descriptor> tlc::openFolder(const std::filesystem::path &path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && (errno == ENOENT || errno == ENOTDIR))
    return folder;
  if (!folder)
    return fileError("open the cache directory", path, errno);
  if (Result<struct stat> status = checkOwner(folder, "cache directory", path); !status)
    return status.error();
  return folder;
}

Result<void> tlc::checkOwn(const Descriptor &folder, const std::filesystem::path &path) {
  struct stat status = {};
  if (::fstat(folder.get(), &status) != 0)
    return fileError("examine", path, errno);
  if (status.st_uid == ::geteuid())
    return {};
  return Error{ErrorKind::environment,
               formatMessage("the cache directory '{}' is only read because it belongs to user {}, not to "
                             "user {}",
                             path.native(), status.st_uid, ::geteuid())};
}

Result<Descriptor> tlc::openEntry(const Descriptor &folder, const std::string &name,
                                  const std::filesystem::path &path) {
  Descriptor file(::openat(folder.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!file)
    return file;
  Result<struct stat> status = checkOwner(file, "cache entry", path);
  if (!status)
    return status.error();
  return S_ISREG(status->st_mode) ? std::move(file) : Descriptor();
}

Result<std::vector<std::byte>> tlc::readEntry(const Descriptor &file, const std::filesystem::path &path,
                                              size_t most) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0)
    return fileError("examine", path, errno);
  if (size_t(status.st_size) > most)
    return Error{ErrorKind::environment, formatMessage("expected at most {} bytes in '{}', but it has {}",
                                                       most, path.native(), status.st_size)};
  std::vector<std::byte> bytes(size_t(status.st_size));
  size_t size = 0;
  while (size != bytes.size()) {
    ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fileError("read", path, errno);
    if (got == 0)
      break;
    size += size_t(got);
  }
  bytes.resize(size);
  return bytes;
}

Result<void> tlc::writeEntry(const Descriptor &folder, const std::string &name,
                             const std::filesystem::path &path, std::span<const std::byte> bytes) {
  std::string temporary;
  Descriptor file = createTemporary(folder, name, path, temporary);
  if (!file)
    return fileError("create", path, errno);
  FileSizeSignal blocked;
  struct stat status = {};
  if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode))
    removeEntry(path);
  if (writeAll(file.get(), bytes) && ::fsync(file.get()) == 0 &&
      ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) == 0)
    return {};
  const int code = errno;
  ::unlinkat(folder.get(), temporary.c_str(), 0);
  return fileError("write", path, code);
}

bool tlc::removeEntry(const std::filesystem::path &path) {
  std::error_code error;
  const auto removed = std::filesystem::remove_all(path, error);
  return !error && removed > 0;
}

bool tlc::removeIfAbandoned(const Descriptor &folder, const std::string &name,
                            const std::filesystem::path &path) {
  struct stat status = {};
  if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return false;
  const bool isLockable = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
  Descriptor file(!isLockable
                      ? -1
                      : ::openat(folder.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (isLockable && file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 &&
      (errno == EWOULDBLOCK || ::time(nullptr) - status.st_mtim.tv_sec <= abandonedAfter))
    return false;
  return removeEntry(path);
}

Result<TemporaryFolder> TemporaryFolder::make(const std::filesystem::path &parent,
                                              const std::string &prefix) {
  for (int i = 0; i != attempts; ++i) {
    std::string name = (parent / (prefix + "XXXXXX")).native();
    if (!::mkdtemp(name.data()))
      return fileError("create a temporary folder in", parent, errno);
    Descriptor lock(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock && lockNew(lock, name))
      return TemporaryFolder(name, std::move(lock));
  }
  return fileError("create a temporary folder in", parent, EEXIST);
}

void TemporaryFolder::remove() const {
  if (!own.empty())
    removeEntry(own);
}
