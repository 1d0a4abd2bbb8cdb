// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles and how they meet: rings, cursors, barriers.
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
// Rings
//===----------------------------------------------------------------------===//

Ring Scope::ring(std::string_view name, RingOptions options, Loc loc) {
  if (options.slots < 1 || options.slots > tile::maxElements) {
    trace->error(loc, "expected ring '" + excerpt(name) + "' to have from 1 to " + Twine(tile::maxElements) +
                          " slots, but got " + Twine(options.slots));
    return trace->poison<Ring>();
  }
  auto type = tile::RingType::get(trace->builder.getContext(), options.slots);
  return trace->make<Ring>(
      trace->create<tile::AllocRingOp>(loc, type, trace->builder.getStringAttr(name), IntegerAttr()));
}

Cursor Ring::cursor(Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value ring = trace->use(reference, "a ring", loc);
  if (!ring)
    return trace->poison<Cursor>();
  MLIRContext *context = trace->builder.getContext();
  auto type = tile::CursorType::get(context, cast<tile::RingType>(ring.getType()).getSlots());
  Value first = trace->create<tile::CursorOp>(loc, type);
  if (!first)
    return trace->poison<Cursor>();
  return trace->make<Cursor>(
      trace->create<tile::VariableOp>(loc, tile::VariableType::get(context, type), first, StringAttr()));
}

void Cursor::advance(Loc loc) {
  Trace *trace = traceOf(reference);
  if (!trace)
    return;
  Value variable = trace->use(reference, "a cursor", loc);
  if (!variable)
    return;
  Value now = trace->read(reference, "a cursor", loc);
  if (Value next = trace->create<tile::AdvanceOp>(loc, now.getType(), now))
    trace->create<tile::WriteOp>(loc, next, variable);
}

namespace {
/// Makes `Op` at a position of a ring.
template <class Op, class... Args>
void atPosition(const detail::Ref &ring, const Cursor &cursor, Loc loc, Args... args) {
  Trace *trace = traceOf(ring, cursor.ref());
  if (!trace)
    return;
  Value of = trace->use(ring, "a ring", loc), position = trace->read(cursor.ref(), "a cursor", loc);
  if (!of || !position)
    return;
  int64_t slots = cast<tile::RingType>(of.getType()).getSlots();
  int64_t counted = cast<tile::CursorType>(position.getType()).getSlots();
  if (slots != counted) {
    Diagnostic &diagnostic = trace->error(loc, "expected a cursor of this ring, of " + Twine(slots) +
                                                   " slots, but got one of " + Twine(counted));
    trace->noteDeclaration(diagnostic, of);
    return;
  }
  trace->create<Op>(loc, of, position, args...);
}
} // namespace

void Ring::acquire(const Cursor &cursor, Loc loc) const {
  atPosition<tile::AcquireOp>(reference, cursor, loc);
}
void Ring::expect(const Cursor &cursor, int64_t bytes, Loc loc) const {
  // A tile whose making was a mistake has none.
  if (Trace *trace = traceOf(reference); trace && bytes == 0 && trace->hasErrors())
    return;
  atPosition<tile::ExpectOp>(reference, cursor, loc, bytes);
}
FullBarrier Ring::full(const Cursor &cursor) const { return {reference, cursor.ref()}; }
void Ring::publish(const Cursor &cursor, Arrival arrival, Loc loc) const {
  atPosition<tile::PublishOp>(reference, cursor, loc, arrival == Arrival::afterProducts);
}
void Ring::wait(const Cursor &cursor, Loc loc) const { atPosition<tile::AwaitOp>(reference, cursor, loc); }
void Ring::release(const Cursor &cursor, Arrival arrival, Loc loc) const {
  atPosition<tile::ReleaseOp>(reference, cursor, loc, arrival == Arrival::afterProducts);
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
