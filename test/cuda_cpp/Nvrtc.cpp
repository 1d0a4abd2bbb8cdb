// SPDX-License-Identifier: Apache-2.0
#include "test/cuda_cpp/Nvrtc.h"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <vector>

namespace tlc::test {
namespace {

/// What of NVRTC's interface is used; it has been the same since CUDA 7.
struct Functions {
  using Handle = void *;
  int (*create)(Handle *, const char *source, const char *name, int, const char *const *,
                const char *const *);
  int (*compile)(Handle, int, const char *const *options);
  int (*ptxSize)(Handle, size_t *);
  int (*ptx)(Handle, char *);
  int (*logSize)(Handle, size_t *);
  int (*log)(Handle, char *);
  int (*destroy)(Handle *);
};

template <class Function> void find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

} // namespace

Result<Nvrtc> Nvrtc::open() {
  Nvrtc nvrtc;
  const std::string folder = TLC_CUDA_LIBRARIES;
  for (const std::string &path :
       {folder + "/libnvrtc.so", std::string("libnvrtc.so.13"), std::string("libnvrtc.so.12"),
        std::string("/usr/local/cuda/lib64/libnvrtc.so")})
    if ((nvrtc.library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)))
      break;
  for (const std::string &path : {std::string(TLC_CUDA_INCLUDES), std::string("/usr/local/cuda/include")})
    if (nvrtc.includes.empty() && std::filesystem::exists(path + "/cuda_fp16.h"))
      nvrtc.includes = path;
  if (!nvrtc.library || nvrtc.includes.empty())
    return Error{ErrorKind::environment, "no libnvrtc and headers of a CUDA toolkit"};
  return nvrtc;
}

Result<std::string> Nvrtc::compile(std::string_view source, Translation translation) const {
  Functions nvrtc;
  find(library, "nvrtcCreateProgram", nvrtc.create);
  find(library, "nvrtcCompileProgram", nvrtc.compile);
  find(library, "nvrtcGetPTXSize", nvrtc.ptxSize);
  find(library, "nvrtcGetPTX", nvrtc.ptx);
  find(library, "nvrtcGetProgramLogSize", nvrtc.logSize);
  find(library, "nvrtcGetProgramLog", nvrtc.log);
  find(library, "nvrtcDestroyProgram", nvrtc.destroy);

  Functions::Handle program = nullptr;
  if (nvrtc.create(&program, std::string(source).c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
    return Error{ErrorKind::environment, "NVRTC does not start"};
  const std::string includeOption = "-I" + includes, libraryOption = "-I" + includes + "/cccl";
  const char *const lines = translation == Translation::debug ? "--device-debug" : "-lineinfo";
  const std::vector<const char *> options = {
      "-arch=sm_90a",        "-std=c++17",         lines,
      "-default-device",     "--device-int128",    "-diag-suppress=550,177",
      includeOption.c_str(), libraryOption.c_str()};
  const int status = nvrtc.compile(program, int(options.size()), options.data());
  size_t size = 0;
  std::string text;
  if (status != 0) {
    nvrtc.logSize(program, &size);
    text.resize(size);
    nvrtc.log(program, text.data());
  } else {
    nvrtc.ptxSize(program, &size);
    text.resize(size);
    nvrtc.ptx(program, text.data());
    text.resize(text.find_last_not_of('\0') + 1);
  }
  nvrtc.destroy(&program);
  if (status != 0)
    return Error{ErrorKind::invalidArgument, text};
  return text;
}

} // namespace tlc::test
