// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranges on the timelines of profilers.
#pragma once

namespace tlc {

/// While it lives, this thread is in a range of that name, which a profiler shows that listens by NVTX, such
/// as Nsight Systems. It names its library in NVTX_INJECTION64_PATH, which a program that gains rights
/// (setuid) does not load. Without a profiler a range costs a few nanoseconds; without NVTX's headers at
/// build time there are none.
class NvtxRange {
public:
  explicit NvtxRange(const char *name);
  NvtxRange(const NvtxRange &) = delete;
  ~NvtxRange();
};

} // namespace tlc
