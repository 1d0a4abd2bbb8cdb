// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/forward/ForwardTime.h"

#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/roles/MathRole.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Timing.h"

#include <algorithm>
#include <cmath>

namespace tlc::kernels {

KeyCycles::KeyCycles(const AttentionProblem &problem, const Target &target) {
  const TimingFacts &timing = timingOf(target);
  double elements = double(multipliedDepth(problem) + multipliedValues(problem)),
         bits = double(bitsOf(problem.dtype));
  products = double(rowsOfMathWarpgroup) * elements * (bits / 16) / timing.multiplyAddsPerCycle;
  // A multiply-add, an exponential, an addition, and half of a conversion to 16 bits. Each warp has a
  // scheduler.
  double element = double(timing.exponentialCycles) + 2 * timing.floatCycles + 0.5 * timing.integerCycles;
  constexpr double loadShare = 0.85; // of the port's rate that copies reach, as in the GEMM's model
  loads = double(bytesOf(problem.dtype, problem.d + problem.dv)) / (loadShare * timing.loadBytesPerCycle);
  softmax = double(rowsOfMathWarpgroup) / double(threadsPerWarpgroup) * element;
}

double KeyCycles::ofBlock(int64_t warpgroups) const {
  double alone = products / 2 + std::max(products / 2, softmax);
  return std::max({alone, loads, double(warpgroups) * products, double(warpgroups) * softmax});
}

int64_t keysSeen(const AttentionProblem &problem, const ForwardExtents &e) {
  const MaskConfig &mask = problem.mask;
  int64_t firstPlace = mask.causal == CausalAlignment::left ? 0 : e.sk - e.sq;
  int64_t begin = mask.windowLeft ? firstPlace - *mask.windowLeft : 0, end = e.sk;
  if (mask.windowRight)
    end = std::min(end, firstPlace + e.sq + *mask.windowRight);
  if (mask.causal != CausalAlignment::none)
    end = std::min(end, firstPlace + e.sq);
  return std::max<int64_t>(end - std::max<int64_t>(begin, 0), 0);
}

int64_t keysOfTile(const AttentionProblem &problem, const ForwardExtents &e, int64_t rows) {
  const MaskConfig &mask = problem.mask;
  int64_t seen = keysSeen(problem, e);
  bool isCausal = mask.causal != CausalAlignment::none;
  if (!mask.windowLeft || (!isCausal && !mask.windowRight))
    return seen;
  return std::min(seen, *mask.windowLeft + (isCausal ? 0 : *mask.windowRight) + std::min(rows, e.sq));
}

double memoryTime(const AttentionProblem &problem, const ForwardExtents &e, const Target &target) {
  const TimingFacts &timing = timingOf(target);
  double bytes = double(e.b) * double(e.hkv) * double(keysSeen(problem, e)) *
                 double(bytesOf(problem.dtype, problem.d + problem.dv));
  return bytes * timing.clockGhz * 1e9 / timing.memoryBytesPerSecond;
}

double wholeKeysTime(const AttentionProblem &problem, const ForwardExtents &e, int64_t rows,
                     const Target &target) {
  double tiles = double(e.b) * double(e.h) * double(ceilDiv(e.sq, rows));
  double ofBusiest = std::ceil(tiles / double(target.multiprocessors));
  double cycles = KeyCycles(problem, target).ofBlock(ceilDiv(rows, rowsOfMathWarpgroup));
  return ofBusiest * double(keysOfTile(problem, e, rows) + keysOfTileEnds) * cycles;
}

} // namespace tlc::kernels
