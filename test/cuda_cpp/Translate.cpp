// SPDX-License-Identifier: Apache-2.0
#include "test/cuda_cpp/Translate.h"

#include "runtime/nvrtc/Nvrtc.h"

namespace tlc::test {

static const Result<Nvrtc> &compiler() {
  static const Result<Nvrtc> nvrtc = Nvrtc::open();
  return nvrtc;
}

bool hasToolkit() { return compiler() && !compiler()->headers().empty(); }

Result<std::string> translate(const std::string &source, Translation translation) {
  if (!compiler())
    return compiler().error();
  const std::string headers = "-I" + compiler()->headers();
  return compiler()->compile(
      source, "kernel.cu",
      {"-arch=sm_90a", "-std=c++17", translation == Translation::debug ? "--device-debug" : "-lineinfo",
       "-default-device", "--device-int128", "-diag-suppress=550,177", headers, headers + "/cccl"});
}

} // namespace tlc::test
