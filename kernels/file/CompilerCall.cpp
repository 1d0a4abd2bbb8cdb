// SPDX-License-Identifier: Apache-2.0
#include "kernels/file/CompilerCall.h"

#include "runtime/support/ChildProcess.h"
#include "runtime/support/Excerpt.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tlc;
using namespace tlc::kernels;
namespace fs = std::filesystem;

namespace {

Error environment(std::string message) { return {ErrorKind::environment, std::move(message)}; }

constexpr std::chrono::seconds mostSecondsToCompile(600), mostSecondsToPreprocess(30);
/// Memory of a compiler, which may include a file without an end.
constexpr rlim_t mostMemory = rlim_t(8) << 30;
constexpr size_t mostText = size_t(256) << 20;

enum class Silent { no, yes }; ///< Whether standard error is discarded.

/// Becomes the command, in a child.
void execute(const CommandLine &command, Silent silent) {
  if (const int nowhere = silent == Silent::yes ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
      nowhere >= 0)
    ::dup2(nowhere, STDERR_FILENO);
  rlimit memory = {};
  ::getrlimit(RLIMIT_DATA, &memory);
  memory.rlim_cur = std::min(mostMemory, memory.rlim_max);
  ::setrlimit(RLIMIT_DATA, &memory);
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  ::execv(words[0], words.data());
  fmt::print(stderr, "cannot run {}: {}\n", command[0], std::strerror(errno));
  std::fflush(nullptr);
  ::_exit(127);
}

/// What the command writes to standard output.
Result<ChildReport> outputOf(const CommandLine &command, std::chrono::seconds limit) {
  return reportOfChild(
      limit,
      [&](int pipe) {
        ::dup2(pipe, STDOUT_FILENO);
        ::setenv("TMPDIR", systemTemporaries().c_str(), /*overwrite=*/1);
        execute(command, Silent::yes);
      },
      {}, mostText);
}

/// The compiler, or what keeps it from compiling the header.
Result<HostCompiler> checkCompiler(const std::string &compiler) {
  constexpr std::chrono::seconds limit(10);
  Result<ChildReport> macros = outputOf({compiler, "-dM", "-E", "-x", "c++", "/dev/null"}, limit);
  if (!macros)
    return macros.error();
  const std::string &text = macros->text;
  const auto valueOf = [&](std::string_view name) {
    const std::string line = fmt::format("#define {} ", name);
    const size_t at = text.find(line);
    int value = -1;
    if (at != std::string::npos)
      std::from_chars(text.data() + at + line.size(), text.data() + text.size(), value);
    return value;
  };
  constexpr int leastClang = 16, leastGcc = 12; // as in kernel.h
  const int clang = valueOf("__clang_major__"), gcc = valueOf("__GNUC__");
  if (clang >= leastClang || (clang < 0 && gcc >= leastGcc))
    return HostCompiler{compiler, clang >= 0};
  return environment(fmt::format("expected GCC {} or clang {}, or a later version, but '{}' is {}", leastGcc,
                                 leastClang, excerpt(compiler),
                                 clang >= 0 ? fmt::format("clang {}", clang)
                                 : gcc >= 0 ? fmt::format("GCC {}", gcc)
                                            : "neither"));
}

/// Flags whose files the preprocessor reads, with a value that may be the next word.
constexpr std::string_view preprocessorFlags[] = {"-D",      "-U",         "-I",       "-isystem",
                                                  "-iquote", "-idirafter", "-include", "-imacros"};
/// Flags that name no file, with a value.
constexpr std::string_view valueFlags[] = {"-std=",       "-march=",       "-mtune=",      "-mcpu=",
                                           "-fsanitize=", "-fvisibility=", "-fconstexpr-", "-ftemplate-",
                                           "-Werror=",    "-Wno-error="};
/// Beginnings of flags that name no file, without a value.
constexpr std::string_view plainFlags[] = {"-O", "-g", "-W", "-w", "-f", "-m", "-pedantic", "-pthread"};
/// Exceptions: files of usual names, and arguments of other programs.
constexpr std::string_view readingFlags[] = {"-include-pch",   "-Wl,",      "-Wa,",
                                             "-Wp,",           "-fprofile", "-fcs-profile",
                                             "-fauto-profile", "-fmodule",  "-fplugin"};

} // namespace

Result<HostCompiler> kernels::findCompiler(const std::string &named) {
  const char *variable = std::getenv("CXX");
  if (!named.empty() || (variable && *variable)) {
    const std::string wanted = named.empty() ? variable : named;
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(wanted);
    if (!found)
      return environment(formatMessage("cannot find the C++ compiler '{}' that {} names", wanted,
                                       named.empty() ? "the variable CXX" : "--cxx"));
    return checkCompiler(*found);
  }
  std::string unsuitable;
  for (const char *name : {"clang++", "clang++-22", "g++", "c++"})
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name)) {
      Result<HostCompiler> checked = checkCompiler(*found);
      if (checked)
        return checked;
      unsuitable += "; " + checked.error().message;
    }
  return environment(
      "expected a C++ compiler on PATH because it compiles files of kernels, but found no suitable one "
      "among clang++, clang++-22, g++ and c++" +
      unsuitable + "; install one (Debian: apt-get install g++) or name one with --cxx");
}

std::string kernels::identityOf(const HostCompiler &compiler) {
  llvm::SmallString<128> real;
  if (llvm::sys::fs::real_path(compiler.path, real))
    real = compiler.path;
  struct stat status = {};
  ::stat(real.c_str(), &status);
  return fmt::format("{} {} {}.{}", real.str().str(), status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

Result<std::optional<std::string>> kernels::preprocess(const HostCompiler &compiler, const CommandLine &flags,
                                                       const std::string &source) {
  CommandLine command = {compiler.path};
  command.insert(command.end(), flags.begin(), flags.end());
  // Lines unchanged: the columns of errors come from them.
  command.insert(command.end(),
                 {"-E", compiler.isClang ? "-frewrite-includes" : "-fdirectives-only", source});
  Result<ChildReport> report = outputOf(command, mostSecondsToPreprocess);
  if (!report)
    return report.error();
  if (report->isTimeout)
    return Error{
        ErrorKind::invalidArgument,
        formatMessage("'{}' does not compile: the preprocessor of {} {}; check that each file that it "
                      "includes is a regular file",
                      source, compiler.path, report->trouble)};
  if (!report->trouble.empty())
    return std::optional<std::string>();
  return std::optional(std::move(report->text));
}

std::string_view kernels::readerIn(std::string_view text) {
  for (size_t at = text.find("embed"); at != text.npos; at = text.find("embed", at + 1))
    if (const size_t before = at == 0 ? text.npos : text.find_last_not_of(" \t", at - 1);
        before != text.npos && text[before] == '#')
      return "#embed";
  return text.find(".incbin") == text.npos ? "" : ".incbin";
}

Result<void> kernels::runCompiler(const CommandLine &command, const fs::path &temporaries,
                                  const std::function<void()> &onKill, std::string *output) {
  Result<ChildReport> report = reportOfChild(
      mostSecondsToCompile,
      [&](int pipe) {
        if (output)
          ::dup2(pipe, STDERR_FILENO);
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
        ::setenv("TMPDIR", temporaries.c_str(), /*overwrite=*/1);
        // Without the preprocessor ccache does not notice a new header in a folder that is searched earlier.
        ::setenv("CCACHE_NODIRECT", "1", /*overwrite=*/1);
        execute(command, Silent::no);
      },
      onKill, mostText);
  if (!report)
    return report.error();
  if (output)
    *output = std::move(report->text);
  if (!report->trouble.empty())
    return Error{ErrorKind::invalidArgument, command[0] + " " + report->trouble};
  return {};
}

std::optional<std::string> kernels::flagThatReads(const std::vector<std::string> &flags) {
  for (size_t i = 0; i != flags.size(); ++i) {
    const auto begins = [&](std::string_view prefix) { return flags[i].starts_with(prefix); };
    const bool isPlain = std::ranges::any_of(plainFlags, begins) && flags[i].find('=') == std::string::npos;
    if (std::ranges::any_of(readingFlags, begins))
      return flags[i];
    if (std::ranges::find(preprocessorFlags, flags[i]) != std::end(preprocessorFlags))
      ++i; // its value
    else if (!isPlain && !std::ranges::any_of(valueFlags, begins) &&
             !std::ranges::any_of(preprocessorFlags, begins))
      return flags[i];
  }
  return std::nullopt;
}

fs::path kernels::systemTemporaries() {
  std::error_code error;
  const fs::path named = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : named;
}
