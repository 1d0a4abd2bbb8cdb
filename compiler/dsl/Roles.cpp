// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles and barriers.
#include "compiler/dsl/Trace.h"
#include "dialects/tile/RoleMarks.h"
#include "mlir/IR/Verifier.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

namespace {
/// The mark of an author's role that `accepts` it, or null.
tile::BeginRoleOp findMark(tile::KernelOp kernel, function_ref<bool(tile::BeginRoleOp)> accepts) {
  tile::BeginRoleOp found;
  kernel.walk([&](tile::BeginRoleOp mark) {
    found = accepts(mark) ? mark : found;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Whether its body is being traced.
bool isOpen(tile::BeginRoleOp mark) {
  for (Operation *op = mark->getNextNode(); op; op = op->getNextNode())
    if (isa<tile::EndRoleOp>(op))
      return false;
  return true;
}

/// Whether a role whose neighbours the compiler makes can stand here; says what is wrong otherwise.
bool checkMark(Trace &trace, StringRef name, const RoleOptions &options, Loc loc) {
  tile::KernelOp kernel = trace.kernel();
  auto report = [&](const Twine &message, Operation *other, const char *note) {
    Diagnostic &diagnostic = trace.error(loc, message);
    diagnostic.notes.push_back({positionOf(other->getLoc()), note});
    return false;
  };
  const std::string role = "role '" + excerpt(name) + "'";
  if (options.registers) {
    trace.error(loc, "expected no registers of " + role +
                         " outside k.roles because the compiler shares them out among all roles");
    return false;
  }
  if (auto roles = kernel.getOps<tile::RolesOp>(); !roles.empty())
    return report("expected " + role + " in the body of k.roles because that parts all warps of the launch",
                  *roles.begin(), "k.roles is here");
  if (tile::BeginRoleOp open = findMark(kernel, isOpen))
    return report("expected " + role + " outside of role '" + open.getName() +
                      "' because one role executes an operation",
                  open, "that role begins here");
  auto differs = [&](tile::BeginRoleOp mark) {
    return mark.getName() == name && int64_t(mark.getWarps()) != options.warps;
  };
  if (tile::BeginRoleOp other = findMark(kernel, differs))
    return report("expected " + role + " to have the same number of warps in all of its parts", other,
                  "another part is here");
  return true;
}
} // namespace

void Scope::roles(const Body &body, Loc loc) {
  if (!isa<tile::KernelOp>(trace->builder.getInsertionBlock()->getParentOp()))
    trace->error(loc,
                 "expected k.roles at the top level of a launch because roles part all warps once, but got "
                 "it inside a loop, a branch or a role; put loops and branches into the roles");
  if (tile::BeginRoleOp mark = findMark(trace->kernel(), [](tile::BeginRoleOp) { return true; }))
    trace
        ->error(loc, "expected role '" + mark.getName() +
                         "' in the body of k.roles because that parts all warps of the launch")
        .notes.push_back({positionOf(mark.getLoc()), "the role is here"});
  auto op = trace->create<tile::RolesOp>(loc);
  if (!op)
    return;
  Block &block = op.getBody().emplaceBlock();
  trace->inside(&block, body);
  if (trace->hasErrors()) // which the verifier would repeat
    return;
  int64_t warps = 0;
  for (tile::RoleOp role : block.getOps<tile::RoleOp>())
    warps += role.getWarps();
  // The roles are all the warps there are.
  if (tile::KernelOp kernel = trace->kernel(); kernel.getWarps() == 0 && succeeded(verify(op)))
    kernel.setWarps(warps);
}

void Scope::role(std::string_view name, RoleOptions options, const Body &body, Loc loc) {
  IntegerAttr registers;
  if (options.registers)
    registers = trace->builder.getI64IntegerAttr(*options.registers);
  auto nameAttr = trace->builder.getStringAttr(name);
  auto warps = trace->builder.getI64IntegerAttr(options.warps);
  if (!isa<tile::RolesOp>(trace->builder.getInsertionBlock()->getParentOp())) {
    const bool isMarked =
        checkMark(*trace, name, options, loc) && trace->create<tile::BeginRoleOp>(loc, nameAttr, warps);
    body();
    if (isMarked)
      trace->create<tile::EndRoleOp>(loc);
    return;
  }
  if (auto op = trace->create<tile::RoleOp>(loc, nameAttr, warps, registers))
    trace->inside(&op.getBody().emplaceBlock(), body);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Barrier Scope::barrier(std::string_view name, int64_t count, Loc loc) {
  auto type = tile::BarrierType::get(trace->builder.getContext());
  return trace->make<Barrier>(trace->create<tile::AllocBarrierOp>(
      loc, type, trace->builder.getStringAttr(name), trace->builder.getI64IntegerAttr(count), IntegerAttr()));
}

void Barrier::arrive(Arrival arrival, Loc loc) const {
  if (Trace *trace = traceOf(reference))
    if (Value barrier = trace->use(reference, "a barrier", loc))
      trace->create<tile::ArriveOp>(loc, barrier, arrival == Arrival::afterProducts);
}

void Barrier::wait(const Index &phase, Loc loc) const {
  Trace *trace = traceOf(reference, phase.ref());
  if (!trace)
    return;
  Value barrier = trace->use(reference, "a barrier", loc);
  Value number = trace->useUniform(phase, "the phase to wait for", loc);
  if (barrier && number)
    trace->create<tile::WaitOp>(loc, barrier, number);
}

NamedBarrier Scope::namedBarrier(int64_t warps, Loc loc) {
  NamedBarrier barrier;
  barrier.trace = trace;
  int64_t id = trace->nextNamedBarrier();
  if (int64_t most = Target().namedBarriers - 1; id > most) {
    trace->error(loc, "expected at most " + Twine(most) +
                          " named barriers because a block has no more, but this is "
                          "number " +
                          Twine(id));
    return barrier;
  }
  if (warps < 1) {
    trace->error(loc, "expected at least 1 warp to meet at a named barrier, but got " + Twine(warps));
    return barrier;
  }
  barrier.id = id;
  barrier.warps = warps;
  return barrier;
}

void Scope::inTurn(const Body &body, Loc loc) {
  auto turn = trace->create<tile::TakeTurnOp>(loc);
  body();
  if (turn)
    trace->create<tile::PassTurnOp>(loc);
}

void NamedBarrier::meet(bool arriveOnly, Loc loc) const {
  Trace *where = traceOf(detail::Ref{trace});
  if (where && where->checkOwner(trace.get(), "a named barrier", loc) && id != 0)
    where->create<tile::NamedBarrierOp>(loc, id, warps, arriveOnly);
}

} // namespace tlc::dsl::inline v1
