// SPDX-License-Identifier: Apache-2.0
/// \file
/// The question "in which stage and which order do the operations of a pipelined
/// loop run?" as plain data.
///
/// # Model
///
/// Operations of one role's loop body, in program order. The pipelined loop runs, in
/// its round t, operation x of iteration t - stage(x), in increasing order(x). A
/// dependence from -> to with distance d says that `to` of iteration i + d needs
/// `from` of iteration i, so it holds if
///
///     stage(to) + d > stage(from),  or  stage(to) + d = stage(from) and order(to) > order(from)
///
/// A `delay` asks for more: stage(to) + d >= stage(from) + delay. That is how loads run
/// ahead (delay = stages - 1) and how the products overlap.
///
/// # Example: attention
///
///     0 s  = q k        product, reads the ring of k
///     1 p  = softmax(s)
///     2 o *= fix
///     3 o += p v        product
///     1 -> 3 (delay 1), 0 -> 1, 1 -> 2, 2 -> 3 (accumulator), 3 -> 2 (distance 1)
///
/// The answer puts 0 and 1 in stage 0, 2 and 3 in stage 1, in the order 0 2 3 1: while
/// the tensor core works on s of iteration j+1 and then on p v of iteration j, the
/// other units compute the softmax of j+1.
#pragma once

#include "runtime/support/Result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tlc {

/// How an operation takes its time.
enum class LatencyClass {
  immediate, ///< scalar and control work: no unit is occupied for long
  compute,   ///< synchronous: elementwise work, reductions, conversions
  copy,      ///< asynchronous: TMA or cp.async; complete at its wait
  product,   ///< asynchronous: wgmma or tcgen05; complete at its wait
};
const char *toString(LatencyClass latencyClass);
inline bool isAsynchronous(LatencyClass c) { return c == LatencyClass::copy || c == LatencyClass::product; }

/// What an operation occupies for its `cycles`, one operation at a time each. `thread`
/// is the role's own instruction stream, which asynchronous operations leave free.
enum class ScheduleResource { thread, tensor, memory };
inline constexpr size_t numScheduleResources = 3;
ScheduleResource resourceOf(LatencyClass latencyClass);

struct ScheduleOp {
  std::string name; ///< for messages
  LatencyClass latencyClass = LatencyClass::compute;
  int64_t cycles = 1;     ///< occupancy of its unit
  int64_t latency = 1;    ///< from its start to its result, at least `cycles`
  int64_t operation = -1; ///< the caller's handle
};

enum class DependenceKind {
  value,       ///< `to` reads what `from` computes
  accumulator, ///< the same, and updates it in place: at distance 0 both stay in one
               ///< stage; between products no wait is needed
  order,       ///< memory: `to` must not start before `from` has completed
  issue,       ///< `to` must not be issued before `from` is issued, no more
  sameRound, ///< as `order`, and both stay in one stage: what `from` uses is overwritten when its round ends
};

struct ScheduleDependence {
  int from = -1, to = -1;
  int64_t distance = 0; ///< iterations
  int64_t delay = 0;    ///< stages asked for beyond what the distance gives
  DependenceKind kind = DependenceKind::value;
};

struct ScheduleProblem {
  std::vector<ScheduleOp> ops;
  std::vector<ScheduleDependence> dependences;
  int64_t maxStages = 8; ///< stages 0 .. maxStages - 1

  int addOp(ScheduleOp op);
  void addDependence(int from, int to, int64_t distance = 0, int64_t delay = 0,
                     DependenceKind kind = DependenceKind::value);

  /// Whether the problem is well formed: indices and signs, dependences of distance 0
  /// follow the program order.
  Result<void> check() const;
};

/// Where an operation goes. Orders are distinct numbers 0 .. n-1.
struct ScheduleSlot {
  int64_t stage = 0;
  int64_t order = 0;
  bool operator==(const ScheduleSlot &) const = default;
};

struct Schedule {
  std::vector<ScheduleSlot> slots; ///< by operation
  int64_t numStages = 1;

  /// The operations of a round, in order.
  std::vector<int> roundOrder() const;
};

/// Whether the schedule answers the problem: every dependence and delay holds,
/// orders are distinct, stages lie within the bounds, accumulators stay together.
Result<void> verify(const ScheduleProblem &problem, const Schedule &schedule);

/// Before operation `before` of a round, the results of `op` that were issued
/// `rounds` rounds earlier must have arrived; `pending` operations of the same class
/// were issued since and may still be in flight (wgmma.wait_group, bulk groups).
struct ScheduleWait {
  int op = -1;
  int before = -1;
  int64_t rounds = 0;
  int64_t pending = 0;
  bool operator==(const ScheduleWait &) const = default;
};

/// For each asynchronous operation that anything needs complete, the first such
/// place; by increasing order of the operation.
std::vector<ScheduleWait> completionWaits(const ScheduleProblem &problem, const Schedule &schedule);

/// The waits that the loop must contain, in order of place: operations of one class
/// complete in order, so those that an earlier one of the round implies are left out.
std::vector<ScheduleWait> derivedWaits(const ScheduleProblem &problem, const Schedule &schedule);

} // namespace tlc
