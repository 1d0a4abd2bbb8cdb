// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads a file's shared object and calls its functions.
#define TLC_READS_KERNEL_FILES
#include "kernels/file/FileProcess.h"

#include "kernels/file/Description.h"
#include "kernels/file/kernel.h"

#include <dlfcn.h>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

namespace {

Error wrong(std::string message) { return {ErrorKind::execution, std::move(message)}; }

/// A file whose kernels are registered.
struct Loaded {
  const KernelFileInterface *interface = nullptr;
  KernelFile kernels = {};
};

/// A program may have loaded this library for itself alone, as Python does, but files call functions of it.
void showThisLibrary() {
  Dl_info here = {};
  if (::dladdr(reinterpret_cast<const void *>(&showThisLibrary), &here) && here.dli_fname)
    ::dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL); // null where it is part of the program
}

Result<Loaded> load(const ObjectFile &object) {
  showThisLibrary();
  const std::string path = fmt::format("/proc/self/fd/{}", object.descriptor);
  // An object for another interface may call functions that are not here: then it is asked for its version
  // alone.
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string missing = library ? "" : ::dlerror();
  if (!library)
    library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return wrong(fmt::format("{}: cannot load what it was compiled to: {}", object.source, ::dlerror()));
  Loaded loaded;
  loaded.interface = static_cast<const KernelFileInterface *>(::dlsym(library, "tlc_kernel_file"));
  if (!loaded.interface)
    return wrong(
        fmt::format("{}: expected a file of kernels, but it does not include <tlc/kernel.h>; 'tlc new "
                    "file.cpp' writes one to begin with",
                    object.source));
  if (loaded.interface->version != kernelFileVersion)
    return wrong(
        fmt::format("{}: expected a file compiled for interface {} of tlc, but it is for interface {}: "
                    "<tlc/kernel.h> is of another version than this tlc",
                    object.source, kernelFileVersion, loaded.interface->version));
  if (loaded.interface->layout != tlc::detail::sharedLayout)
    return wrong(
        fmt::format("{}: expected data of the same layout as in tlc, but it differs: <tlc/kernel.h> is "
                    "of another build, or the file is compiled with flags that change the C++ "
                    "library, such as -D_GLIBCXX_DEBUG",
                    object.source));
  if (!missing.empty())
    return wrong(fmt::format("{}: it calls what is neither in it nor in tlc: {}", object.source, missing));
  if (!loaded.interface->registerKernels)
    return wrong(
        fmt::format("{}: expected the function void registerKernels(tlc::KernelFile &), which registers "
                    "the kernels, but it has none",
                    object.source));
  if (Result<void> done = guarded(loaded.interface->guard, object.source + ": registering its kernels",
                                  [&] { loaded.interface->registerKernels(loaded.kernels); });
      !done)
    return done.error();
  return loaded;
}

} // namespace

Result<std::string> kernels::describeKernels(const ObjectFile &object) {
  Result<Loaded> loaded = load(object);
  if (!loaded)
    return loaded.error();
  Result<std::vector<KernelDescription>> descriptions = describeEntries(loaded->kernels, object.source);
  if (!descriptions)
    return descriptions.error();
  return pack(*descriptions);
}

Result<std::string> kernels::traceKernel(const ObjectFile &object, size_t number, const ParameterTexts &texts,
                                         const dsl::TraceOptions &options) {
  Result<Loaded> loaded = load(object);
  if (!loaded)
    return loaded.error();
  return traceEntry(*loaded->kernels.entries[number], loaded->interface->guard, texts, options);
}

Result<std::string> kernels::numbersOfKernel(const ObjectFile &object, size_t number,
                                             const ParameterTexts &texts, const NumbersQuestion &question) {
  Result<Loaded> loaded = load(object);
  if (!loaded)
    return loaded.error();
  return numbersOfEntry(*loaded->kernels.entries[number], loaded->interface->guard, texts, question);
}
