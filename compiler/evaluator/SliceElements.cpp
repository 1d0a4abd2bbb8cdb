// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of slices of tensors and of shared tiles.
#include "compiler/evaluator/SliceElements.h"

#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::evaluator {

namespace {
/// The number in the tensor of the element at that position of its windows; nothing if that tap is beyond it.
std::optional<int64_t> elementOfWindow(const Slice &slice, ArrayRef<int64_t> position) {
  const TensorWindow &window = slice.windows->window;
  const std::vector<int64_t> &extents = slice.tensor->extents;
  Extents at(position.begin(), position.end());
  for (size_t axis = window.taps.size(); axis-- > 0;) {
    int64_t count = window.count(axis, extents[axis + 1]);
    at[axis + 1] = at[0] % count * window.strides[axis] + position[axis + 1] * window.dilations[axis] -
                   window.before[axis];
    at[0] /= count;
    if (at[axis + 1] < 0 || at[axis + 1] >= extents[axis + 1])
      return std::nullopt;
  }
  int64_t element = 0;
  for (auto [along, extent] : llvm::zip(at, extents))
    element = element * extent + along;
  return element;
}

int64_t combined(tile::CombineKind how, int64_t a, int64_t b) {
  switch (how) {
  case tile::CombineKind::add:
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  case tile::CombineKind::min:
    return std::min(a, b);
  case tile::CombineKind::max:
    return std::max(a, b);
  case tile::CombineKind::bitAnd:
    return a & b;
  case tile::CombineKind::bitOr:
    return a | b;
  case tile::CombineKind::bitXor:
    break;
  }
  return a ^ b;
}

Element combined(const Kind &kind, tile::CombineKind how, const Element &a, const Element &b) {
  if (kind.isFloat)
    return how == tile::CombineKind::min ? minimum(kind, a, b) : maximum(kind, a, b);
  Element result = exactInteger(kind, combined(how, a.integer, b.integer));
  return isExact(a) && isExact(b) ? result : unspecified(result);
}

/// Sums are taken in f32 at least, and rounded once.
Element combined(const Kind &kind, tile::CombineKind how, ArrayRef<Element> elements) {
  if (kind.isFloat && how == tile::CombineKind::add) {
    const Kind wide = kind.bits < 32 ? kindOf(ElementType::f32) : kind;
    Sum sum;
    for (const Element &element : elements)
      sum.add(element);
    const Element total = sum.result(wide, ordinarySums(wide));
    return kind.bits < 32 ? floatToFloat(kind, total, Rounding::nearest) : total;
  }
  Element known = elements.front();
  for (const Element &element : elements.drop_front())
    known = combined(kind, how, known, element);
  return known;
}
} // namespace

ArrayRef<GlobalTensor *> tensorsOf(const Slice &slice) {
  return slice.ofRanks ? ArrayRef<GlobalTensor *>(*slice.ofRanks) : ArrayRef(slice.tensor);
}

namespace {
/// What is added to the origin for that element, by axis of the tensor.
Extents offsetOf(const Slice &slice, int64_t number) {
  Extents inBox = positionOf(number, slice.extents);
  if (slice.boxAxes.empty())
    return inBox;
  Extents offset;
  const FragmentRef *indices = slice.indices.begin();
  for (int axis : slice.boxAxes)
    offset.push_back(axis < 0 ? (*indices++)->elements[number].integer : inBox[axis]);
  return offset;
}
} // namespace

std::optional<int64_t> elementOf(const Slice &slice, int64_t number, bool &breaksPromise) {
  Extents position = offsetOf(slice, number);
  int64_t element = slice.view ? slice.view->offset : 0;
  bool isInTensor = true;
  if (slice.limitedAxis >= 0 &&
      (slice.origin[slice.limitedAxis] < 0 ||
       slice.origin[slice.limitedAxis] + position[slice.limitedAxis] >= slice.limit))
    return std::nullopt;
  for (auto [axis, origin] : llvm::enumerate(slice.origin)) {
    int64_t &at = position[axis];
    at += origin;
    isInTensor &= at >= 0 && at < (*slice.ofTensor)[axis];
    element = slice.view
                  ? element + at * slice.view->strides[axis]
                  : element * slice.tensor->extents[axis] + at * (slice.steps ? (*slice.steps)[axis] : 1);
  }
  if (slice.windows && slice.origin.front() < 0)
    isInTensor = false;
  breaksPromise |= !isInTensor && slice.isUnchecked;
  if (!isInTensor)
    return std::nullopt;
  return slice.windows ? elementOfWindow(slice, position) : std::optional(element);
}

Step failUnchecked(Task &task, Operation *op, const Slice &slice) {
  return task.fail(op, "expected a box inside '" + slice.tensor->name + "' because it is unchecked, but at " +
                           positionText(slice.origin) + " of " + tile::toText(slice.extents) +
                           " elements lie outside of " + tile::toText(*slice.ofTensor));
}

Step forEachInside(Task &task, Operation *op, const Slice &slice, ArrayRef<Element> elements,
                   ElementStep step) {
  bool breaksPromise = false;
  for (auto [number, element] : llvm::enumerate(elements)) {
    auto at = elementOf(slice, static_cast<int64_t>(number), breaksPromise);
    if (breaksPromise)
      return failUnchecked(task, op, slice);
    for (GlobalTensor *tensor : tensorsOf(slice))
      if (at && step(task, op, *tensor, *at, element) == Step::failed)
        return Step::failed;
  }
  return Step::done;
}

std::optional<std::vector<Element>> readSlice(Task &task, Operation *op, const Slice &slice) {
  std::vector<Element> elements(countOf(slice.extents), slice.fill);
  bool breaksPromise = false;
  for (auto [number, element] : llvm::enumerate(elements)) {
    auto at = elementOf(slice, static_cast<int64_t>(number), breaksPromise);
    if (breaksPromise)
      failUnchecked(task, op, slice);
    if (breaksPromise || (at && readElement(task, op, *slice.tensor, *at, element) == Step::failed))
      return std::nullopt;
  }
  return elements;
}

std::optional<std::vector<Element>> readAllRanks(Task &task, Operation *op, const Slice &slice,
                                                 tile::CombineKind kind) {
  std::vector<std::vector<Element>> ofRanks;
  for (GlobalTensor *tensor : tensorsOf(slice)) {
    Slice own = slice;
    own.tensor = tensor;
    own.ofRanks = nullptr;
    auto elements = readSlice(task, op, own);
    if (!elements)
      return std::nullopt;
    ofRanks.push_back(std::move(*elements));
  }
  std::vector<Element> together(ofRanks.front().size());
  bool breaksPromise = false;
  for (auto [number, element] : llvm::enumerate(together)) {
    element = ofRanks.front()[number];
    if (elementOf(slice, static_cast<int64_t>(number), breaksPromise)) // else it is the fill value
      element = combined(
          slice.tensor->kind, kind,
          llvm::map_to_vector(ofRanks, [&, number = number](auto &elements) { return elements[number]; }));
  }
  return together;
}

} // namespace tlc::evaluator
