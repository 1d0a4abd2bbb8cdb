// SPDX-License-Identifier: Apache-2.0
/// \file
/// The few functions of NVRTC that are called.
#include "runtime/nvrtc/Nvrtc.h"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

using namespace tlc;

namespace {

using Handle = void *;
using GetSize = int(Handle, size_t *);
using GetText = int(Handle, char *);

template <class Function> Function *find(void *library, const char *name) {
  return reinterpret_cast<Function *>(::dlsym(library, name));
}

std::string textOf(void *library, Handle program, const char *size, const char *get) {
  size_t bytes = 0;
  auto *getSize = find<GetSize>(library, size);
  auto *getText = find<GetText>(library, get);
  if (!getSize || !getText || getSize(program, &bytes) != 0 || bytes == 0)
    return {};
  std::string text(bytes, '\0');
  if (getText(program, text.data()) != 0)
    return {};
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

} // namespace

Result<Nvrtc> Nvrtc::open() {
  Nvrtc nvrtc;
  for (const char *path : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                           "/usr/local/cuda/lib64/libnvrtc.so"})
    if (!nvrtc.library)
      nvrtc.library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!nvrtc.library)
    return Error{
        ErrorKind::environment,
        "expected NVIDIA's run-time compiler for CUDA C++, but found no libnvrtc.so; install it (it is "
        "part of the CUDA toolkit) or add its folder to LD_LIBRARY_PATH"};
  auto *getVersion = find<int(int *, int *)>(nvrtc.library, "nvrtcVersion");
  int major = 0, minor = 0;
  if (!getVersion || getVersion(&major, &minor) != 0)
    return Error{ErrorKind::environment,
                 "expected libnvrtc.so to be NVIDIA's, but it does not tell its version"};
  nvrtc.name = fmt::format("{}.{}", major, minor);
  Dl_info image = {};
  std::error_code ignored;
  std::vector<std::filesystem::path> folders = {"/usr/local/cuda/include"};
  if (::dladdr(reinterpret_cast<const void *>(getVersion), &image)) {
    std::filesystem::path file = std::filesystem::canonical(image.dli_fname, ignored);
    folders.insert(folders.begin(), file.parent_path().parent_path() / "include");
  }
  for (const std::filesystem::path &folder : folders)
    if (nvrtc.includes.empty() && std::filesystem::exists(folder / "cuda_fp16.h", ignored))
      nvrtc.includes = folder.native();
  return nvrtc;
}

Result<std::string> Nvrtc::compile(const std::string &source, const std::string &name,
                                   const std::vector<std::string> &options) const {
  auto *create =
      find<int(Handle *, const char *, const char *, int, const char *const *, const char *const *)>(
          library, "nvrtcCreateProgram");
  auto *translate = find<int(Handle, int, const char *const *)>(library, "nvrtcCompileProgram");
  auto *destroy = find<int(Handle *)>(library, "nvrtcDestroyProgram");
  Handle program = nullptr;
  if (!create || !translate || !destroy ||
      create(&program, source.c_str(), name.c_str(), 0, nullptr, nullptr) != 0)
    return Error{ErrorKind::environment, fmt::format("NVRTC {} does not start", version())};
  std::vector<const char *> arguments;
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  const int status = translate(program, int(arguments.size()), arguments.data());
  std::string text = status == 0 ? textOf(library, program, "nvrtcGetPTXSize", "nvrtcGetPTX")
                                 : textOf(library, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
  destroy(&program);
  if (status != 0)
    return Error{ErrorKind::invalidArgument,
                 text.empty() ? fmt::format("NVRTC {} ended with status {}", version(), status) : text};
  return text;
}
