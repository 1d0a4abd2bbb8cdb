// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles and what they meet at. What is asynchronous is done when it is issued:
/// that is one of the orders which a correct program allows.
#include "compiler/evaluator/Machine.h"
#include "dialects/tile/RoleMarks.h"
#include "runtime/target/Hardware.h"

using namespace mlir;

namespace tlc::evaluator {

namespace {

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

Step evaluateRoles(Task &task, tile::RolesOp op) {
  BlockState &block = task.block;
  auto [running, isNew] = block.runningRoles.try_emplace(op, 0);
  if (!isNew) {
    if (running->second > 0)
      return Step::waits;
    block.runningRoles.erase(running);
    return Step::done;
  }
  for (tile::RoleOp role : op.getBody().getOps<tile::RoleOp>()) {
    ++running->second;
    block.tasks.push_back({block, role.getName(), static_cast<int64_t>(role.getWarps())});
    block.tasks.back().enter(role, role.getBody());
  }
  return Step::waits;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Step evaluateAllocBarrier(Task &task, tile::AllocBarrierOp op) {
  std::unique_ptr<Barrier> &barrier = task.block.barriers[op];
  if (!barrier) {
    barrier = std::make_unique<Barrier>();
    barrier->count = op.getCount();
  }
  task.set(op.getBarrier(), Datum(barrier.get()));
  return Step::done;
}

Step evaluateArrive(Task &task, tile::ArriveOp op) {
  auto *barrier = std::get<Barrier *>(task.get(op.getBarrier()));
  if (op.getAfterProducts()) {
    barrier->arrive(1);
    return Step::done;
  }
  if (task.warps == 0)
    return task.fail(op, "expected k.warps because the threads that arrive are counted");
  barrier->arrive(task.warps * lanesPerWarp);
  return Step::done;
}

Step evaluateWait(Task &task, tile::WaitOp op) {
  auto phase = task.certain(op, op.getPhase(), "the phase to wait for");
  if (!phase)
    return Step::failed;
  return std::get<Barrier *>(task.get(op.getBarrier()))->phases > *phase ? Step::done : Step::waits;
}

Step evaluateNamedBarrier(Task &task, tile::NamedBarrierOp op) {
  if (task.warps == 0)
    return task.fail(op, "expected k.warps because the warps that meet are counted");
  Barrier &barrier = task.block.namedBarriers[static_cast<int64_t>(op.getId())];
  if (!task.awaitedPhase) {
    barrier.count = op.getWarps();
    task.awaitedPhase = barrier.phases;
    barrier.arrive(task.warps);
  }
  if (!op.getArrive() && barrier.phases == *task.awaitedPhase)
    return Step::waits;
  task.awaitedPhase.reset();
  return Step::done;
}

/// All threads of a task go together, and nothing is in flight.
template <class Op> Step evaluateOrder(Task &, Op) { return Step::done; }

} // namespace

void addRoleRules(Rules &rules) {
  rules.add(evaluateRoles);
  rules.add(evaluateAllocBarrier);
  rules.add(evaluateArrive);
  rules.add(evaluateWait);
  rules.add(evaluateNamedBarrier);
  rules.add(evaluateOrder<tile::RequireOp>);
  rules.add(evaluateOrder<tile::TakeTurnOp>);
  rules.add(evaluateOrder<tile::PassTurnOp>);
  rules.add(evaluateOrder<tile::BeginRoleOp>);
  rules.add(evaluateOrder<tile::EndRoleOp>);
}

} // namespace tlc::evaluator
