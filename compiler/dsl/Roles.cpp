// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles and barriers.
#include "compiler/dsl/Trace.h"
#include "mlir/IR/Verifier.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void Scope::roles(const Body &body, Loc loc) {
  if (!isa<tile::KernelOp>(trace->builder.getInsertionBlock()->getParentOp()))
    trace->error(loc,
                 "expected k.roles at the top level of a launch because roles part all warps once, but got "
                 "it inside a loop, a branch or a role; put loops and branches into the roles");
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
  Operation *parent = trace->builder.getInsertionBlock()->getParentOp();
  if (!isa<tile::RolesOp>(parent)) {
    trace->error(loc,
                 "expected role '" + excerpt(name) + "' in the body of k.roles because roles part all warps");
    body();
    return;
  }
  IntegerAttr registers;
  if (options.registers)
    registers = trace->builder.getI64IntegerAttr(*options.registers);
  auto op = trace->create<tile::RoleOp>(loc, trace->builder.getStringAttr(name),
                                        trace->builder.getI64IntegerAttr(options.warps), registers);
  if (op)
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
