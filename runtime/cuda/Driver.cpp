// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/Driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

using namespace tlc;

namespace {

/// The first driver that has everything in Driver.def.
constexpr int leastDriverVersion = 12000;

Error missing(std::string message) { return {ErrorKind::environment, std::move(message)}; }

} // namespace

std::string tlc::formatDriverVersion(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Result<Driver> Driver::open() {
  // Never closed: other libraries of the process use it as well, and unloading a driver in use is not safe.
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return missing(fmt::format("cannot open libcuda.so.1, which NVIDIA's driver installs: {}", ::dlerror()));
  auto lookUp = reinterpret_cast<decltype(&::cuGetProcAddress)>(::dlsym(library, "cuGetProcAddress_v2"));
  if (!lookUp)
    return missing(fmt::format("expected an NVIDIA driver for CUDA {} or later, but libcuda.so.1 is older",
                               formatDriverVersion(leastDriverVersion)));

  Driver driver;
#define TLC_DRIVER_FUNCTION(name, requested)                                                                 \
  {                                                                                                          \
    void *address = nullptr;                                                                                 \
    if (lookUp(#name, &address, requested, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) != CUDA_SUCCESS ||          \
        !address)                                                                                            \
      return missing(fmt::format("expected an NVIDIA driver for CUDA {} or later, but libcuda.so.1 has no "  \
                                 "'{}'",                                                                     \
                                 formatDriverVersion(leastDriverVersion), #name));                           \
    driver.name = reinterpret_cast<decltype(driver.name)>(address);                                          \
  }
#include "runtime/cuda/Driver.def"
#undef TLC_DRIVER_FUNCTION

  if (CUresult status = driver.cuInit(0); status != CUDA_SUCCESS)
    return missing(fmt::format("the CUDA driver does not start: {}", driver.describe(status)));
  if (CUresult status = driver.cuDriverGetVersion(&driver.version); status != CUDA_SUCCESS)
    return missing(fmt::format("the CUDA driver does not tell its version: {}", driver.describe(status)));
  return driver;
}

std::string Driver::describe(CUresult status) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(status, &name) != CUDA_SUCCESS || cuGetErrorString(status, &text) != CUDA_SUCCESS)
    return fmt::format("CUDA error {}", int(status));
  return fmt::format("{} ({})", name, text);
}
