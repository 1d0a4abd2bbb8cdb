// SPDX-License-Identifier: Apache-2.0
#include "test/cuda_cpp/Translate.h"

#include "runtime/cache/DiskCache.h"
#include "runtime/nvrtc/Nvrtc.h"

namespace tlc::test {

static const Result<Nvrtc> &compiler() {
  static const Result<Nvrtc> nvrtc = Nvrtc::open();
  return nvrtc;
}

static std::optional<DiskCache> &kept() {
  static std::optional<DiskCache> cache;
  return cache;
}

bool hasToolkit() { return compiler() && !compiler()->headers().empty(); }

void keepTranslations(std::filesystem::path folder) { kept().emplace(std::move(folder)); }

Result<std::string> translate(const std::string &source, Translation translation) {
  if (!compiler())
    return compiler().error();
  const std::string headers = "-I" + compiler()->headers();
  const std::vector<std::string> options = {
      "-arch=sm_90a",
      "-std=c++17",
      translation == Translation::debug ? "--device-debug" : "-lineinfo",
      "-default-device",
      "--device-int128",
      "-diag-suppress=550,177",
      headers,
      headers + "/cccl"};
  KeyBuilder key;
  key.add(compiler()->version()).add(source);
  for (const std::string &option : options)
    key.add(option);
  if (kept())
    if (const auto artifact = kept()->load(key.finish()); artifact && *artifact)
      return (*artifact)->artifact.variants[0].ptx;
  Result<std::string> ptx = compiler()->compile(source, "kernel.cu", options);
  if (ptx && kept())
    if (auto stored = kept()->store(
            key.finish(),
            {{.name = "kernel", .target = "sm_90a", .variants = {{.name = "only", .ptx = *ptx}}}});
        !stored)
      return stored.error();
  return ptx;
}

} // namespace tlc::test
