// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds the compiler's library beside this one, and opens it if it is of this build.
#include "runtime/cache/BuildId.h"
#include "runtime/support/Excerpt.h"
#include "tools/libtlc/Compiler.h"
#include "tools/libtlc/CompilerFacts.h"

#include <atomic>
#include <climits>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <mutex>

using namespace tlc;

namespace {

Error unusable(std::string what) {
  return {ErrorKind::environment,
          std::move(what) +
              "; programs that the cache has need no compiler, all others do: install the files "
              "lib/libtlc*.so of one build of tlc together"};
}

/// In the folder of this library, as the loader has found that: neither the working folder nor a variable of
/// the environment decides what is opened.
Result<std::filesystem::path> pathOfCompiler() {
  Dl_info here = {};
  void *own = nullptr;
  char folder[PATH_MAX] = {};
  if (::dladdr1(reinterpret_cast<const void *>(&unusable), &here, &own, RTLD_DL_LINKMAP) == 0 ||
      ::dlinfo(own, RTLD_DI_ORIGIN, folder) != 0)
    return unusable("cannot find the folder that libtlc.so is in, where libtlc_compiler.so should be");
  return std::filesystem::path(folder) / "libtlc_compiler.so";
}

Error ofAnotherBuild(const std::filesystem::path &path, std::string_view build) {
  return unusable(formatMessage(
      "expected the compiler of build {} in '{}', but {}{}", calls::compilerBuild, path.native(),
      build.empty() ? "it is no library with a build's name" : "got build ", build));
}

Result<const calls::Compiler *> open() {
  Result<std::filesystem::path> path = pathOfCompiler();
  if (!path)
    return path.error();
  // Before code of it runs.
  Result<std::string> build = buildIdOfFile(*path);
  if (!build)
    return unusable(build.error().message);
  if (*build != calls::compilerBuild)
    return ofAnotherBuild(*path, *build);
  // Names are bound at their first calls, as those of a library that is linked: there are thousands.
  void *library = ::dlopen(path->c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    const char *reason = ::dlerror();
    return unusable(formatMessage("cannot load '{}': {}", path->native(), reason ? reason : "unknown"));
  }
  const auto functions = reinterpret_cast<decltype(&tlc_compiler_of)>(::dlsym(library, "tlc_compiler_of"));
  const calls::Compiler *found = functions ? functions(calls::compilerBuild) : nullptr;
  if (!found)
    return ofAnotherBuild(*path, *build + " without its functions");
  return found;
}

} // namespace

Result<const calls::Compiler *> calls::compiler() {
  static std::mutex mutex;
  static std::atomic<const Compiler *> opened = nullptr;
  if (const Compiler *known = opened)
    return known;
  std::lock_guard lock(mutex);
  if (const Compiler *known = opened)
    return known;
  Result<const Compiler *> found = open();
  if (found)
    opened = *found;
  return found;
}
