// SPDX-License-Identifier: Apache-2.0
#include "runtime/nccl/Nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>

using namespace tlc;

namespace {

constexpr int leastVersion = 21900;
constexpr const char *usualName = "libnccl.so.2";

std::string formatVersion(int code) {
  const int minors = code < 10'000 ? 1000 : 10'000; // until 2.8 there were fewer digits
  return fmt::format("{}.{}.{}", code / minors, code % minors / 100, code % 100);
}

Error unusable(std::string_view reason) {
  return {ErrorKind::environment, fmt::format("expected NCCL 2.19 or later, but {}", reason)};
}

} // namespace

Result<Nccl> Nccl::open(const std::string &path) {
  const std::string name = path.empty() ? usualName : path;
  void *library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); // never closed: others of the process use it
  if (!library)
    return unusable(fmt::format("cannot open {} ({}); install it, add its folder to LD_LIBRARY_PATH, or name "
                                "the library, which PyTorch has as nvidia/nccl/lib/{} beside it",
                                name, ::dlerror(), usualName));
  Nccl nccl;
  auto tell = reinterpret_cast<decltype(nccl.ncclGetVersion)>(::dlsym(library, "ncclGetVersion"));
  if (!tell || tell(&nccl.versionCode) != success)
    return unusable(fmt::format("{} does not tell its version", name));
  nccl.version = formatVersion(nccl.versionCode);
  if (nccl.versionCode < leastVersion)
    return unusable(fmt::format("{} is {}; install a later one, or name its library", name, nccl.version));
#define TLC_NCCL_FUNCTION(function, result, parameters)                                                      \
  nccl.function = reinterpret_cast<result(*) parameters>(::dlsym(library, #function));                       \
  if (!nccl.function)                                                                                        \
    return unusable(fmt::format("{}, which is {}, has no '{}'", name, nccl.version, #function));
#include "runtime/nccl/Nccl.def"
#undef TLC_NCCL_FUNCTION
  return nccl;
}

std::optional<int> Nccl::typeOf(ElementType element) {
  switch (element) {
  case ElementType::i8:
    return int8;
  case ElementType::u8:
    return 1;
  case ElementType::i32:
    return 2;
  case ElementType::u32:
    return 3;
  case ElementType::i64:
    return 4;
  case ElementType::f16:
    return 6;
  case ElementType::f32:
    return 7;
  case ElementType::f64:
    return 8;
  case ElementType::bf16:
    return 9;
  default:
    return {};
  }
}

Result<NcclUniqueId> Nccl::createUniqueId() const {
  NcclUniqueId id;
  if (const int status = ncclGetUniqueId(&id); status != success)
    return Error{ErrorKind::environment, fmt::format("NCCL {} makes no id: {}", version, describe(status))};
  return id;
}

std::string Nccl::describe(int status, NcclComm *comm) const {
  const char *text = ncclGetErrorString(status), *last = ncclGetLastError(comm);
  std::string all = text ? text : fmt::format("status {}", status);
  if (last && *last)
    all += fmt::format(": {}", last);
  return all;
}
