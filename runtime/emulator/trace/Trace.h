// SPDX-License-Identifier: Apache-2.0
/// \file
/// A timeline of one cluster of blocks: what its warps and engines did when, in
/// cycles of the cost model. Plain data; nothing in it refers to the emulator.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tlc::emulator {

struct TraceTrack {
  enum class Kind : uint8_t {
    warp,
    loads,       ///< copies into the multiprocessor's shared memory
    stores,      ///< copies out of it
    tensorCores, ///< asynchronous products
    slot,        ///< of a ring
  };
  Kind kind = Kind::warp;
  uint32_t block = 0; ///< rank in the cluster
  std::string name;   ///< "math, warp 4"; "a.b[2]"
  std::string role;   ///< of a warp; empty where it has none
  unsigned warp = 0;
};

/// Someone on a track at a time: who ended a wait.
struct TracePoint {
  uint32_t track = 0;
  uint64_t time = 0;
};

struct TraceSpan {
  enum class Kind : uint8_t {
    run,     ///< a warp executes
    wait,    ///< a warp waits at a barrier, for copies or for products
    stall,   ///< a warp waits for the result of an instruction of its own
    copy,    ///< a copy moves
    product, ///< the tensor cores multiply
    filling, ///< a slot of a ring: copies are under way
    full,    ///< and it holds what they brought, until it is released
  };
  Kind kind = Kind::run;
  uint32_t track = 0;
  uint64_t begin = 0, end = 0;
  std::string name = {};                      ///< of a wait: for what, "a.b.full[2]"; of a copy: "A to a[2]"
  std::string location = {};                  ///< in the source, "gemm.cpp:54:5"
  uint64_t bytes = 0;                         ///< of a copy
  double peakCycles = 0;                      ///< of a product: at the peak rate of its operands' type
  std::optional<TracePoint> issued = {};      ///< of a copy or product: by whom, when
  std::optional<TracePoint> releasedBy = {};  ///< of a wait
  std::map<std::string, uint64_t> lines = {}; ///< of a run: cycles by source line
};

struct Trace {
  std::string kernel, target;
  std::string device; ///< on which it was measured; empty: by the cost model
  std::array<uint32_t, 3> grid = {1, 1, 1}, threads = {1, 1, 1}, cluster = {1, 1, 1};
  std::array<uint32_t, 3> block = {}; ///< rank 0 of the cluster
  uint32_t blocks = 1;                ///< of the cluster
  double clockGhz = 1;
  unsigned loadBytesPerCycle = 1, storeBytesPerCycle = 1;
  uint64_t threadBytesIn = 0, threadBytesOut = 0; ///< by loads and stores of threads, which have no spans
  uint64_t cycles = 0;                            ///< from the first instruction to the end of all work
  std::vector<TraceTrack> tracks;
  std::vector<TraceSpan> spans; ///< by begin
};

} // namespace tlc::emulator
