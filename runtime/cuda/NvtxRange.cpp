// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/NvtxRange.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#include <sys/auxv.h>

static bool mayListen() {
  static const bool may = ::getauxval(AT_SECURE) == 0;
  return may;
}

tlc::NvtxRange::NvtxRange(const char *name) {
  if (mayListen())
    nvtxRangePushA(name);
}
tlc::NvtxRange::~NvtxRange() {
  if (mayListen())
    nvtxRangePop();
}
#else
tlc::NvtxRange::NvtxRange(const char *) {}
tlc::NvtxRange::~NvtxRange() = default;
#endif
