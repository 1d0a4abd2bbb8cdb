// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations. Extents and types are checked by the operations' own verifiers.
#include "compiler/dsl/Slices.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {

void combine(tile::CombineKind kind, StringRef name, const FragmentValue &value, const Slice &to, Loc loc) {
  Trace *trace = traceOf(value.ref(), to.ref());
  if (!trace)
    return;
  Value operand = trace->use(value.ref(), ("the operand of " + name).str(), loc);
  Value destination = destinationOf(*trace, to, ("the destination of " + name).str(), loc);
  if (operand && destination && hasPositions(to))
    scatter(*trace, operand, destination, to, kind, loc);
  else if (operand && destination)
    trace->create<tile::AtomicOp>(loc, kind, operand, destination);
}

void combine(tile::CombineKind kind, StringRef name, const Scalar &value, const Slice &to, Loc loc) {
  Trace *trace = traceOf(value.ref(), to.ref());
  if (!trace)
    return;
  Value destination = destinationOf(*trace, to, ("the destination of " + name).str(), loc);
  if (!destination)
    return;
  if (hasPositions(to)) { // the number for each of them
    if (Value filled = trace->filled(value, fragmentOf(destination), loc))
      scatter(*trace, filled, destination, to, kind, loc);
    return;
  }
  Value operand = value.constant()
                      ? trace->number(*value.constant(), tile::elementTypeOf(destination.getType()), loc)
                      : trace->use(value.ref(), ("the operand of " + name).str(), loc);
  if (operand)
    trace->create<tile::AtomicOp>(loc, kind, operand, destination);
}

void combine(tile::CombineKind kind, StringRef name, const Shared &tile, const Slice &to, Loc loc) {
  Trace *trace = traceOf(tile.ref(), to.ref());
  if (!trace)
    return;
  if (hasPositions(to)) {
    trace->error(loc, "expected a box for " + name +
                          " of a shared tile because the TMA makes it, but got a position " +
                          "per element; copy the tile to a fragment");
    return;
  }
  Value source = trace->use(tile.ref(), ("the tile of " + name).str(), loc);
  Value destination = destinationOf(*trace, to, ("the destination of " + name).str(), loc);
  if (source && destination)
    trace->create<tile::CopyReduceOp>(loc, kind, source, destination);
}

} // namespace

#define TLC_ATOMIC(name, kind)                                                                               \
  void name(const FragmentValue &value, const Slice &to, Loc loc) {                                          \
    combine(tile::CombineKind::kind, #name, value, to, loc);                                                 \
  }                                                                                                          \
  void name(const Scalar &value, const Slice &to, Loc loc) {                                                 \
    combine(tile::CombineKind::kind, #name, value, to, loc);                                                 \
  }                                                                                                          \
  void name(const Shared &tile, const Slice &to, Loc loc) {                                                  \
    combine(tile::CombineKind::kind, #name, tile, to, loc);                                                  \
  }
TLC_ATOMIC(atomicAdd, add)
TLC_ATOMIC(atomicMin, min)
TLC_ATOMIC(atomicMax, max)
TLC_ATOMIC(atomicAnd, bitAnd)
TLC_ATOMIC(atomicOr, bitOr)
TLC_ATOMIC(atomicXor, bitXor)
#undef TLC_ATOMIC

} // namespace tlc::dsl::inline v1
