// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiles, and looks after the entries of the cache.
#include "kernels/file/HostCompiler.h"

#include "kernels/file/CompiledFiles.h"
#include "kernels/file/CompilerCall.h"
#include "kernels/file/PrecompiledHeader.h"
#include "kernels/library/call/BuildId.h"
#include "runtime/cache/Key.h"
#include "runtime/support/Excerpt.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tlc;
using namespace tlc::kernels;
namespace fs = std::filesystem;

namespace {

/// Of an object. Larger ones are none of ours.
constexpr size_t mostBytes = size_t(256) << 20;

Error environment(std::string message) { return {ErrorKind::environment, std::move(message)}; }

/// The compiler opens the file by its name: a pipe would keep it waiting, a device might have no end.
Result<void> checkSource(const std::string &source) {
  const auto unreadable = [&](std::string_view why) {
    return Error{ErrorKind::invalidArgument, formatMessage("cannot read '{}': {}", source, why)};
  };
  const Descriptor file(::open(source.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0)
    return unreadable(std::strerror(errno));
  if (S_ISDIR(status.st_mode))
    return unreadable(std::strerror(EISDIR));
  if (!S_ISREG(status.st_mode))
    return unreadable("it is no regular file");
  return {};
}

/// An object in memory, to be loaded from there.
Result<SharedObject> objectOf(std::string_view bytes, std::optional<std::string> remark) {
  Descriptor file(::memfd_create("tlc-kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t written = ::write(file.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return environment(
          fmt::format("cannot keep {} bytes of code in memory: {}", bytes.size(), std::strerror(errno)));
    left.remove_prefix(size_t(written));
  }
  // Its own code must not change it.
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return SharedObject{std::move(file), KeyBuilder().add(bytes).finish().toHex(), std::move(remark)};
}

/// One file, its compiler and its flags.
struct Compilation {
  std::string source, headers;
  HostCompiler compiler;
  CommandLine flags;
  std::string *output = nullptr; ///< what the compiler prints; null: it goes to standard error
  /// Why what is compiled is not kept, as the end of a sentence; empty if it is.
  std::string obstacle = {};
  std::string preprocessed = {}; ///< once there is a key

  /// The key for the files as they are now; nothing where there is an obstacle.
  Result<std::optional<Key>> key() {
    Result<std::optional<std::string>> text = preprocess(compiler, flags, source);
    if (!text)
      return text.error();
    if (!*text)
      obstacle = formatMessage("{} does not preprocess it", compiler.path);
    else if (const std::string_view reader = readerIn(**text); !reader.empty())
      obstacle = fmt::format("its '{}' reads files, whose changes tlc does not notice", reader);
    if (!obstacle.empty())
      return std::optional<Key>();
    KeyBuilder key;
    key.add(identityOf(compiler)).add(buildId()).add(source).add(**text);
    for (const std::string &flag : flags)
      key.add(flag);
    // Where the compiler finds libraries and other programs, and what it adds to its flags.
    for (const char *variable : {"PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_RUN_PATH",
                                 "CCC_OVERRIDE_OPTIONS"}) {
      const char *value = std::getenv(variable);
      key.add(value ? value : "");
    }
    preprocessed = std::move(**text);
    return std::optional(key.finish());
  }

  /// The object of the files as they are now. With a store the header is compiled once.
  Result<std::string> compile(const TemporaryFolder &temporaries, const EntryStore *store) const {
    const std::string object = (temporaries.path() / "kernels.so").native();
    const auto onKill = [&] { temporaries.remove(); };
    CommandLine command = {compiler.path, "-shared"};
    if (store)
      for (std::string &flag : precompiledHeader({compiler, flags, headers, source, preprocessed}, *store,
                                                 temporaries.path(), onKill))
        command.push_back(std::move(flag));
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-o", object, source});
    if (Result<void> done = runCompiler(command, temporaries.path(), onKill, output); !done)
      return Error{done.error().kind,
                   formatMessage("'{}' does not compile: {}", source, done.error().message)};
    const Descriptor file(::open(object.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file)
      return environment(
          formatMessage("expected '{}' to write a shared object, but it wrote none", compiler.path));
    Result<std::vector<std::byte>> bytes = readEntry(file, object, mostBytes);
    if (!bytes)
      return bytes.error();
    return std::string(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  }
};

std::optional<std::string> findEntry(const EntryStore &store, const Key &key) {
  if (Result<std::optional<EntryStore::Bytes>> content = store.load(key); content && *content)
    if (Result<CompiledFile> file = deserializeCompiledFile(**content))
      return std::move(file->object);
  return std::nullopt;
}

} // namespace

Result<std::string> kernels::headerFolder() {
  Dl_info image = {};
  llvm::SmallString<128> real;
  if (!::dladdr(reinterpret_cast<const void *>(&kernels::headerFolder), &image) ||
      llvm::sys::fs::real_path(image.dli_fname, real))
    return environment("cannot find the file that tlc is loaded from");
  // lib/libtlc_compiler.so, or lib/<machine>/libtlc_compiler.so, or bin/<a program with all of it>.
  const fs::path own(real.str().str());
  for (const fs::path &above :
       {own.parent_path().parent_path(), own.parent_path().parent_path().parent_path()})
    if (std::error_code ignored; fs::exists(above / "include/tlc/kernel.h", ignored))
      return (above / "include").string();
  return environment(
      formatMessage("cannot find tlc/kernel.h, the header of files of kernels: expected it in the folder "
                    "'{}', but it is not there; install tlc with its headers",
                    (own.parent_path().parent_path() / "include").native()));
}

Result<SharedObject> kernels::compileFile(const std::string &path, const HostCompilerOptions &options) {
  if (Result<void> valid = checkSource(path); !valid)
    return valid.error();
  Result<HostCompiler> compiler = findCompiler(options.compiler);
  if (!compiler)
    return compiler.error();
  Result<std::string> headers = headerFolder();
  if (!headers)
    return headers.error();
  CommandLine flags = {"-std=c++20", "-O0",    "-fPIC",    "-fvisibility=hidden",
                       "-isystem",   *headers, "-isystem", *headers + "/tlc"};
  flags.insert(flags.end(), options.flags.begin(), options.flags.end());
  // Or compilers take it for a flag, or for a file of flags.
  const bool looksLikeFlag = path.starts_with('-') || path.starts_with('@');
  Compilation compilation{(looksLikeFlag ? "./" : "") + path, *headers, *compiler, std::move(flags),
                          options.output};
  if (std::optional<std::string> flag = flagThatReads(options.flags))
    compilation.obstacle =
        formatMessage("the flag '{}' may name files, whose changes tlc does not notice", *flag);

  std::optional<EntryStore> store;
  if (options.cache.folder)
    store.emplace(*options.cache.folder, options.cache.bytes);
  const auto tell = [&, begin = std::chrono::steady_clock::now()](CacheEvent::Kind kind) {
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (options.cache.onEvent)
      options.cache.onEvent({kind, path, "", time.count()});
  };
  std::optional<Key> key;
  if (store && compilation.obstacle.empty()) {
    Result<std::optional<Key>> current = compilation.key();
    if (!current)
      return current.error();
    key = *current;
    if (key)
      if (std::optional<std::string> object = findEntry(*store, *key)) {
        tell(CacheEvent::Kind::foundOnDisk);
        return objectOf(*object, {});
      }
  }
  if (options.cache.policy == CachePolicy::hitsOnly)
    return environment(
        formatMessage("expected what '{}' is compiled to in the cache, which is used for hits "
                      "only, but it has none{}; 'tlc prewarm' makes it from a line that begins "
                      "with the file's name",
                      path, compilation.obstacle.empty() ? "" : " because " + compilation.obstacle));
  std::optional<std::string> unused; // why the folder is
  Result<TemporaryFolder> temporaries = Error{};
  if (store) {
    store->removeAbandoned();
    temporaries = store->makeTemporaryFolder(key.value_or(KeyBuilder().add(path).finish()));
    if (!temporaries)
      unused = temporaries.error().message;
  }
  if (!temporaries)
    temporaries = TemporaryFolder::make(systemTemporaries(), "tlc-");
  if (!temporaries)
    return temporaries.error();
  const auto notKept = [&]() -> std::optional<std::string> {
    if (unused)
      return *unused + "; the file is compiled in a temporary folder, each time";
    if (!store)
      return std::nullopt; // the cache is off
    return "what the file is compiled to is not kept because " + compilation.obstacle;
  };
  constexpr int attempts = 3;
  for (int attempt = 1;; ++attempt) {
    Result<std::string> object =
        compilation.compile(*temporaries, store && key && !unused ? &*store : nullptr);
    if (!object)
      return object.error();
    tell(CacheEvent::Kind::compiled);
    if (!key || unused)
      return objectOf(*object, notKept());
    Result<std::optional<Key>> after = compilation.key();
    if (!after)
      return after.error();
    if (*after == key) {
      Result<void> stored = store->store(*key, serialize({path, *object}));
      return objectOf(*object, stored ? std::nullopt : std::optional(stored.error().message));
    }
    if (attempt == attempts && compilation.obstacle.empty())
      compilation.obstacle = "it, or a file that it includes, changes while it is compiled";
    if (!compilation.obstacle.empty())
      return objectOf(*object, notKept());
    key = *after;
  }
}
