// SPDX-License-Identifier: Apache-2.0
/// \file
/// Answers a ScheduleProblem. Stages are the smallest that satisfy all delays (longest
/// paths), but immediate operations move to the stage of their first user, as an index
/// is cheaper computed late than carried. The order within a round comes from list
/// scheduling: of the operations that can start earliest an asynchronous one, then the
/// one with the longest way to the end, then program order.
#pragma once

#include "compiler/solvers/ScheduleProblem.h"

namespace tlc {

/// Adds delay 1 to the value dependences on which one product waits for another
/// through synchronous work (s -> softmax -> p v), so that the work of iteration j+1
/// runs under the second product of iteration j. A dependence whose recurrence has no
/// slack stays as it is, and so does one with a delay of its own. Returns the indices
/// of the dependences it delayed.
std::vector<int> overlapProducts(ScheduleProblem &problem);

/// Fails, naming the operations of the cycle, if delays contradict a recurrence; and if the schedule would
/// need more than `maxStages`. Expects `problem.check()` to have succeeded.
Result<Schedule> solveSchedule(const ScheduleProblem &problem);

/// One stage, program order: what everything can be compared with. It answers the
/// problem without its delays.
Schedule sequentialSchedule(const ScheduleProblem &problem);

} // namespace tlc
