// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranges reach a profiler that listens.
#include "runtime/cuda/NvtxRange.h"

#include <catch2/catch.hpp>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <vector>

namespace {

std::vector<std::string> &heard() {
  static std::vector<std::string> all;
  return all;
}

int push(const char *name) {
  heard().emplace_back(name);
  return 0;
}
int pop() {
  heard().emplace_back("end");
  return 0;
}

/// Takes the place of a profiler's library.
int listen(NvtxGetExportTableFunc_t exported) {
  const auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(exported(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) ||
      size <= NVTX_CBID_CORE_RangePop)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}

} // namespace

TEST_CASE("a profiler that listens is told ranges", "[nvtx]") {
  InitializeInjectionNvtx2_fnptr = listen; // the header's, which NVTX reads at its first call
  {
    const tlc::NvtxRange outer("gemm");
    const tlc::NvtxRange inner("softmax");
  }
  CHECK(heard() == std::vector<std::string>{"gemm", "softmax", "end", "end"});
}
#endif
