// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds and calls the compiler; looks after the entries of the cache.
#include "kernels/file/HostCompiler.h"

#include "kernels/library/call/BuildId.h"
#include "runtime/cache/Key.h"
#include "runtime/support/Excerpt.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tlc;
using namespace tlc::kernels;
namespace fs = std::filesystem;

namespace {

/// Larger ones are none of ours.
constexpr size_t mostBytes = size_t(256) << 20;

Error environment(std::string message) { return {ErrorKind::environment, std::move(message)}; }

Result<std::string> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return Error{ErrorKind::invalidArgument,
                 formatMessage("cannot read '{}': {}", path, buffer.getError().message())};
  return (*buffer)->getBuffer().str();
}

std::string hashOf(std::string_view bytes) { return KeyBuilder().add(bytes).finish().toHex(); }

/// Which one it is: another one in its place has another size or time.
std::string identityOf(const std::string &compiler) {
  llvm::SmallString<128> real;
  if (llvm::sys::fs::real_path(compiler, real))
    real = compiler;
  struct stat status = {};
  ::stat(real.c_str(), &status);
  return fmt::format("{} {} {}", real.str().str(), status.st_size, status.st_mtim.tv_sec);
}

/// A folder of this process, removed at the end.
struct TemporaryFolder {
  fs::path path;
  TemporaryFolder() {
    std::error_code error;
    fs::path parent = fs::temp_directory_path(error);
    std::string name = ((error ? fs::path("/tmp") : parent) / "tlc-XXXXXX").string();
    if (::mkdtemp(name.data()))
      path = name;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};

constexpr const char *noTemporaryFolder =
    "cannot make a temporary folder, neither where TMPDIR says nor in /tmp, for what a compiler writes";

/// What keeps it from compiling the header; empty if nothing does.
std::string whyUnsuitable(const std::string &compiler) {
  const TemporaryFolder folder;
  if (folder.path.empty())
    return noTemporaryFolder;
  const std::string output = (folder.path / "macros").string();
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(output),
                                                      llvm::StringRef()};
  constexpr unsigned seconds = 10;
  llvm::sys::ExecuteAndWait(compiler, {compiler, "-dM", "-E", "-x", "c++", "/dev/null"}, std::nullopt,
                            redirects, seconds);
  Result<std::string> macros = readFile(output);
  const auto valueOf = [&](std::string_view name) {
    const std::string line = fmt::format("#define {} ", name);
    const size_t at = macros ? macros->find(line) : std::string::npos;
    int value = -1;
    if (at != std::string::npos)
      std::from_chars(macros->data() + at + line.size(), macros->data() + macros->size(), value);
    return value;
  };
  constexpr int leastClang = 16, leastGcc = 12; // as in kernel.h
  const int clang = valueOf("__clang_major__"), gcc = valueOf("__GNUC__");
  if (clang >= leastClang || (clang < 0 && gcc >= leastGcc))
    return {};
  return fmt::format("expected GCC {} or clang {}, or a later version, but '{}' is {}", leastGcc, leastClang,
                     excerpt(compiler),
                     clang >= 0 ? fmt::format("clang {}", clang)
                     : gcc >= 0 ? fmt::format("GCC {}", gcc)
                                : "neither");
}

Result<std::string> findCompiler(const std::string &named) {
  const char *variable = std::getenv("CXX");
  if (!named.empty() || (variable && *variable)) {
    const std::string wanted = named.empty() ? variable : named;
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(wanted);
    if (!found)
      return environment(formatMessage("cannot find the C++ compiler '{}' that {} names", wanted,
                                       named.empty() ? "the variable CXX" : "--cxx"));
    if (std::string why = whyUnsuitable(*found); !why.empty())
      return environment(why);
    return *found;
  }
  std::string unsuitable;
  for (const char *name : {"clang++", "clang++-22", "g++", "c++"})
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name)) {
      std::string why = whyUnsuitable(*found);
      if (why.empty())
        return *found;
      unsuitable += "; " + why;
    }
  return environment(
      "expected a C++ compiler on PATH because it compiles files of kernels, but found no suitable one "
      "among clang++, clang++-22, g++ and c++" +
      unsuitable + "; install one (Debian: apt-get install g++) or name one with --cxx");
}

/// The files that a makefile's rule depends on.
std::vector<std::string> dependenciesIn(std::string_view rule) {
  std::vector<std::string> files;
  std::string file;
  const size_t colon = rule.find(": ");
  for (size_t i = colon == rule.npos ? rule.size() : colon + 1; i <= rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\n';
    if (i == rule.size() || rule[i] == ' ' || rule[i] == '\n') {
      if (!file.empty())
        files.push_back(std::exchange(file, {}));
    } else if (rule[i] == '\\' && (next == ' ' || next == '#')) {
      file += rule[++i];
    } else if (rule[i] == '$' && next == '$') {
      file += rule[++i];
    } else if (rule[i] != '\\' || next != '\n') {
      file += rule[i];
    }
  }
  return files;
}

/// After the object, where loaders do not look: its hash, a line with the hash of each file that it depends
/// on, the length of all this and a mark.
constexpr std::string_view mark = "tlc file 2\n";

std::string manifestOf(std::string_view object,
                       const std::vector<std::pair<std::string, std::string>> &hashes) {
  std::string manifest = hashOf(object) + "\n";
  for (const auto &[file, hash] : hashes)
    manifest += fmt::format("{} {}\n", hash, file);
  return manifest + fmt::format("{:016x}", manifest.size()) + std::string(mark);
}

/// Whether an entry is whole, and still is what would be compiled.
bool isCurrent(std::string_view entry) {
  constexpr size_t digits = 16;
  if (!entry.ends_with(mark) || entry.size() < mark.size() + digits)
    return false;
  entry.remove_suffix(mark.size());
  size_t size = std::strtoull(std::string(entry.substr(entry.size() - digits)).c_str(), nullptr, 16);
  entry.remove_suffix(digits);
  if (size > entry.size())
    return false;
  std::string_view lines = entry.substr(entry.size() - size);
  const std::string object = hashOf(entry.substr(0, entry.size() - size)) + "\n";
  if (!lines.starts_with(object))
    return false; // damaged
  for (lines.remove_prefix(object.size()); !lines.empty();) {
    const size_t end = lines.find('\n'), space = lines.find(' ');
    if (end == lines.npos || space > end)
      return false;
    Result<std::string> contents = readFile(std::string(lines.substr(space + 1, end - space - 1)));
    if (!contents || hashOf(*contents) != lines.substr(0, space))
      return false;
    lines.remove_prefix(end + 1);
  }
  return true;
}

std::optional<fs::path> cacheFolder() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache && *cache == '/')
    return fs::path(cache) / "tlc/files";
  if (home && *home == '/')
    return fs::path(home) / ".cache/tlc/files";
  return std::nullopt;
}

/// The folder of entries; an error says why there is none.
Result<Descriptor> openCache(const fs::path &path) {
  if (Result<void> made = createFolder(path); !made)
    return made.error();
  Result<Descriptor> folder = openFolder(path);
  if (!folder)
    return folder.error();
  struct stat status = {};
  if (!*folder || ::fstat(folder->get(), &status) != 0)
    return environment(formatMessage("cannot open the cache directory '{}'", path.native()));
  if (status.st_mode & (S_IRWXG | S_IRWXO))
    return environment(
        formatMessage("the cache directory '{}' is not used because it is open to others (mode {:o}); "
                      "'chmod 700' closes it",
                      path.native(), status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)));
  return folder;
}

/// An entry that is what would be compiled; nothing otherwise.
std::optional<SharedObject> findEntry(const Descriptor &folder, const std::string &name,
                                      const fs::path &path) {
  Result<Descriptor> file = openEntry(folder, name, path);
  if (!file || !*file)
    return std::nullopt;
  Result<std::vector<std::byte>> bytes = readEntry(*file, path, mostBytes);
  if (!bytes)
    return std::nullopt;
  const std::string_view text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  if (!isCurrent(text))
    return std::nullopt;
  return SharedObject{std::move(*file), hashOf(text), {}};
}

} // namespace

Result<std::string> kernels::headerFolder() {
  Dl_info image = {};
  llvm::SmallString<128> real;
  if (!::dladdr(reinterpret_cast<const void *>(&kernels::headerFolder), &image) ||
      llvm::sys::fs::real_path(image.dli_fname, real))
    return environment("cannot find the file that tlc is loaded from");
  // lib/libtlc.so, or lib/<machine>/libtlc.so, or bin/<a program with all of it>.
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

Result<SharedObject> kernels::compileFile(const std::string &source, const HostCompilerOptions &options) {
  Result<std::string> text = readFile(source);
  if (!text)
    return text.error();
  Result<std::string> compiler = findCompiler(options.compiler);
  if (!compiler)
    return compiler.error();
  Result<std::string> headers = headerFolder();
  if (!headers)
    return headers.error();
  std::vector<std::string> command = {*compiler,  "-std=c++20",          "-O0",      "-fPIC",
                                      "-shared",  "-fvisibility=hidden", "-isystem", *headers,
                                      "-isystem", *headers + "/tlc"};
  command.insert(command.end(), options.flags.begin(), options.flags.end());

  std::error_code ignored;
  KeyBuilder key;
  key.add(fs::absolute(source, ignored).native()).add(identityOf(*compiler)).add(buildId());
  for (const std::string &word : command)
    key.add(word);
  // Where the compiler looks for headers, libraries and its own programs.
  for (const char *variable :
       {"CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"}) {
    const char *value = std::getenv(variable);
    key.add(value ? value : "");
  }
  const std::string name = key.finish().toHex() + ".so";
  std::optional<std::string> remark;
  Descriptor folder;
  std::optional<fs::path> cache = cacheFolder();
  if (!cache) {
    remark = "what the file is compiled to is not kept because neither XDG_CACHE_HOME nor HOME is set";
  } else if (Result<Descriptor> opened = openCache(*cache); !opened) {
    remark = opened.error().message + "; the file is compiled in a temporary folder, each time";
  } else {
    folder = std::move(*opened);
    if (std::optional<SharedObject> entry = findEntry(folder, name, *cache / name))
      return std::move(*entry);
  }

  TemporaryFolder temporary;
  if (temporary.path.empty())
    return environment(noTemporaryFolder);
  const std::string object = (temporary.path / "kernels.so").string(),
                    rule = (temporary.path / "rule").string(),
                    printed = (temporary.path / "printed").string();
  command.insert(command.end(), {"-MD", "-MF", rule, "-o", object, source});
  llvm::SmallVector<llvm::StringRef> words(command.begin(), command.end());
  std::string failure;
  const std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(printed),
                                                      llvm::StringRef(printed)};
  const int status = llvm::sys::ExecuteAndWait(
      *compiler, words, std::nullopt,
      options.output ? llvm::ArrayRef(redirects) : llvm::ArrayRef<std::optional<llvm::StringRef>>(), 0, 0,
      &failure);
  if (options.output)
    if (Result<std::string> output = readFile(printed))
      *options.output = std::move(*output);
  if (status != 0)
    return Error{ErrorKind::invalidArgument,
                 formatMessage("'{}' does not compile: {} {}", source, *compiler,
                               failure.empty() ? fmt::format("ended with status {}", status) : failure)};
  Result<std::string> bytes = readFile(object), dependencies = readFile(rule);
  if (!bytes || !dependencies)
    return environment(formatMessage("expected '{}' to write a shared object, but it wrote none", *compiler));

  // The text before it was compiled: who edits it meanwhile gets it compiled again.
  std::vector<std::pair<std::string, std::string>> hashes = {{fs::absolute(source, ignored), hashOf(*text)}};
  for (const std::string &file : dependenciesIn(*dependencies))
    if (Result<std::string> contents = readFile(file); contents && file != source)
      hashes.emplace_back(fs::absolute(file, ignored), hashOf(*contents));
  *bytes += manifestOf(*bytes, hashes);
  if (folder) {
    const fs::path path = *cache / name;
    if (Result<void> written = writeEntry(folder, name, path, std::as_bytes(std::span(*bytes))); !written)
      remark = written.error().message;
    else if (Result<Descriptor> file = openEntry(folder, name, path); file && *file)
      return SharedObject{std::move(*file), hashOf(*bytes), {}};
  }
  Descriptor file(::open(object.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return environment("cannot open what the file is compiled to");
  return SharedObject{std::move(file), hashOf(*bytes), std::move(remark)};
}
