// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors as columns that a window sees.
#include "compiler/dsl/Ops.h"
#include "compiler/dsl/Trace.h"
#include "compiler/dsl/Window.h"
#include "dialects/tile/Tile.h"
#include "runtime/artifact/TensorWindow.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {
/// With the numbers that are not given; null with an error where they make no window.
program::WindowAttr attributeOf(Trace &trace, const Window &window, Loc loc) {
  auto numbers = [&](const Shape &given, int64_t otherwise) {
    return given.empty() ? Shape(window.taps.size(), otherwise) : given;
  };
  Shape strides = numbers(window.strides, 1), dilations = numbers(window.dilations, 1),
        before = numbers(window.before, 0), after = numbers(window.after, 0);
  auto report = [&] { return emitError(trace.at(loc)); };
  return program::WindowAttr::getChecked(llvm::function_ref<InFlightDiagnostic()>(report),
                                         trace.builder.getContext(), ArrayRef<int64_t>(window.taps),
                                         ArrayRef<int64_t>(strides), ArrayRef<int64_t>(dilations),
                                         ArrayRef<int64_t>(before), ArrayRef<int64_t>(after));
}
} // namespace

Index Window::count(size_t axis, const Index &extent, Loc loc) const {
  Trace *trace = traceOf(extent.ref());
  if (!trace)
    return {};
  program::WindowAttr attr = attributeOf(*trace, *this, loc);
  if (attr && axis >= taps.size())
    trace->error(loc, "expected an axis of the window from 0 to " + Twine(taps.size() - 1) + ", but got " +
                          Twine(axis));
  if (!attr || axis >= taps.size())
    return trace->poison<Index>();
  TensorWindow window = attr.getWindow();
  if (std::optional<int64_t> known = extent.constant())
    return window.count(axis, *known);
  int64_t slack = window.slack(axis), stride = window.strides[axis];
  Index moves = slack == 0 ? extent : At<Index>(extent, loc) + slack;
  if (slack < 0)
    moves = max(moves, 0, loc);
  return stride == 1 ? moves : At<Index>(moves, loc) / stride;
}

Global Global::windows(const Window &window, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value tensor = trace->use(reference, "a tensor", loc);
  program::WindowAttr attr = tensor ? attributeOf(*trace, window, loc) : program::WindowAttr();
  if (!attr)
    return trace->poison<Global>();
  auto source = cast<tile::GlobalType>(tensor.getType());
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  llvm::append_range(shape, attr.getTaps());
  shape.push_back(source.getShape().back());
  auto type = tile::GlobalType::get(trace->builder.getContext(), shape, source.getElementType());
  return trace->make<Global>(trace->create<tile::WindowsOp>(loc, type, tensor, attr));
}

} // namespace tlc::dsl::inline v1
