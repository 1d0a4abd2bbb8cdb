// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts in global memory. Element types are checked by the operations' own verifiers.
#include "compiler/dsl/Counts.h"

#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "runtime/support/Excerpt.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {
/// The slice of the count; null, silently or with an error, if it cannot be counted on.
Value countAt(Trace &trace, const Global &tensor, const std::vector<Index> &position, StringRef call,
              Loc loc) {
  Slice element = tensor.tile(position, Shape(position.size(), 1), loc);
  Value slice = trace.use(element.ref(), "a count", loc);
  if (!slice)
    return {};
  Value counts = slice.getDefiningOp<tile::SliceOp>().getTensor();
  program::TensorAttr attr = trace.tensorOf(counts);
  if (!attr || attr.getAccess() != program::Access::input)
    return slice;
  Diagnostic &diagnostic = trace.error(
      loc, "expected the counts of " + call + " to be a workspace because inputs are only read, but '" +
               excerpt(attr.getName()) + "' is an input; declare it with k.workspace or k.inout");
  trace.noteDeclaration(diagnostic, counts);
  return {};
}
} // namespace

void announce(const Global &counts, const std::vector<Index> &position, const Index &by, Loc loc) {
  Trace *trace = traceOf(counts.ref(), by.ref());
  if (!trace)
    return;
  Value count = countAt(*trace, counts, position, "announce", loc);
  Value number = trace->useUniform(by, "what announce adds", loc);
  if (count && number)
    trace->create<tile::AnnounceOp>(loc, count, number);
}

void waitFor(const Global &counts, const std::vector<Index> &position, const Index &least, Loc loc) {
  Trace *trace = traceOf(counts.ref(), least.ref());
  if (!trace)
    return;
  Value count = countAt(*trace, counts, position, "waitFor", loc);
  Value number = trace->useUniform(least, "a number to wait for", loc);
  if (count && number)
    trace->create<tile::WaitForOp>(loc, count, number, IntegerAttr());
}

Index take(const Global &counts, const std::vector<Index> &position, Loc loc) {
  Trace *trace = traceOf(counts.ref());
  if (!trace)
    return {};
  Value count = countAt(*trace, counts, position, "take", loc);
  Value first = trace->useUniform(0, "a position", loc);
  if (!count || !first)
    return trace->poison<Index>();
  // By way of shared memory all threads get the number.
  auto type = tile::SharedType::get(trace->builder.getContext(), {1}, trace->builder.getI32Type());
  Value tile =
      trace->create<tile::AllocSharedOp>(loc, type, trace->builder.getStringAttr("taken"), IntegerAttr());
  trace->create<tile::TakeOp>(loc, count, tile, first);
  return trace->make<Index>(trace->create<tile::LoadIndexOp>(loc, tile, first));
}

} // namespace tlc::dsl::inline v1
