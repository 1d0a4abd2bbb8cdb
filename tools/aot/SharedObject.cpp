// SPDX-License-Identifier: Apache-2.0
#include "tools/aot/SharedObject.h"

#include "kernels/file/CompilerCall.h"
#include "runtime/cache/EntryFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

using namespace llvm;
using namespace tlc;
namespace fs = std::filesystem;

static tlc::Error environment(std::string message) { return {ErrorKind::environment, std::move(message)}; }

static Result<std::string> runtimeArchive() {
  Dl_info image = {};
  SmallString<128> real;
  if (!::dladdr(reinterpret_cast<const void *>(&aot::linkShared), &image) ||
      sys::fs::real_path(image.dli_fname, real))
    return environment("cannot find the file that tlc is loaded from");
  const fs::path runtime = fs::path(real.str().str()).parent_path() / "libtlc_runtime.a";
  if (std::error_code ignored; !fs::exists(runtime, ignored))
    return environment(fmt::format(
        "expected '{}' for --shared, but it is not there; install tlc with its libraries", runtime.native()));
  return runtime.string();
}

/// The texts that are installed with the runtime: its own, and that of fmt, which it contains.
static Result<std::string> licencesOf(const fs::path &runtime) {
  const fs::path folder = runtime.parent_path().parent_path() / "share" / "doc" / "tlc" / "licenses";
  std::string text = "This file is linked with libtlc_runtime.a, which contains tlc and fmt.\n";
  for (const char *name : {"tlc", "fmt"}) {
    const std::string path = (folder / name).string();
    ErrorOr<std::unique_ptr<MemoryBuffer>> licence = MemoryBuffer::getFile(path);
    if (!licence)
      return environment(
          fmt::format("cannot read the licence of {} in '{}': {}; install tlc with its documents", name, path,
                      licence.getError().message()));
    text += fmt::format("\n==== {} ====\n\n{}", name, std::string_view((*licence)->getBuffer()));
  }
  return text;
}

Result<aot::SharedObject> aot::linkShared(StringRef archive, const std::string &name,
                                          const std::string &compiler) {
  Result<std::string> runtime = runtimeArchive();
  if (!runtime)
    return runtime.error();
  Result<std::string> licences = licencesOf(*runtime);
  if (!licences)
    return licences.error();
  Result<kernels::HostCompiler> linker = kernels::findCompiler(compiler);
  if (!linker)
    return linker.error();
  Result<TemporaryFolder> folder = TemporaryFolder::make(kernels::systemTemporaries(), "tlc-");
  if (!folder)
    return folder.error();
  const std::string input = (folder->path() / "kernels.a").string(),
                    output = (folder->path() / name).string();
  std::error_code error;
  if (raw_fd_ostream os(input, error); !error) {
    os << archive;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return environment(fmt::format("cannot write '{}': {}", input, error.message()));
  std::string said;
  // The name comes by -Xlinker because -Wl would split it at commas.
  const kernels::CommandLine command = {linker->path,  "-shared",
                                        "-s",          "-o",
                                        output,        "-Wl,--whole-archive",
                                        input,         "-Wl,--no-whole-archive",
                                        *runtime,      "-Wl,--exclude-libs,libtlc_runtime.a",
                                        "-Xlinker",    "-soname",
                                        "-Xlinker",    name,
                                        "-Wl,-z,defs", "-ldl",
                                        "-lpthread"};
  if (Result<void> linked = kernels::runCompiler(command, folder->path(), {}, &said); !linked)
    return environment(fmt::format("cannot link '{}': {}; it says: {}", name, linked.error().message, said));
  ErrorOr<std::unique_ptr<MemoryBuffer>> bytes = MemoryBuffer::getFile(output);
  if (!bytes)
    return environment(fmt::format("cannot read '{}': {}", output, bytes.getError().message()));
  return SharedObject{(*bytes)->getBuffer().str(), std::move(*licences)};
}
