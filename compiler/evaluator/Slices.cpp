// SPDX-License-Identifier: Apache-2.0
/// \file
/// Members of tables of addresses, and slices of tensors and shared tiles.
#include "compiler/evaluator/Machine.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"
#include "runtime/artifact/Artifact.h"

using namespace mlir;

namespace tlc::evaluator {

namespace {

/// The tensor itself, or that of a rank; null with an error if there is no such rank.
GlobalTensor *tensorOf(Task &task, tile::SliceOp op) {
  auto *own = std::get<GlobalTensor *>(task.get(op.getTensor()));
  if (!op.getRank())
    return own;
  Evaluation &evaluation = task.block.evaluation;
  auto rank = task.certain(op, op.getRank(), "a rank of '" + own->name + "'");
  if (!rank)
    return nullptr;
  if (*rank < 0 || *rank >= evaluation.ranks()) {
    task.fail(op, "expected a rank from 0 to " + Twine(evaluation.ranks() - 1) + " of '" + own->name +
                      "', but got " + Twine(*rank));
    return nullptr;
  }
  unsigned number = cast<BlockArgument>(op.getTensor()).getArgNumber();
  return std::get<GlobalTensor *>(evaluation.arguments[*rank][number]);
}

/// Those of all ranks of a symmetric argument.
const std::vector<GlobalTensor *> &tensorsOfRanks(Evaluation &evaluation, Value argument) {
  unsigned number = cast<BlockArgument>(argument).getArgNumber();
  auto [entry, isNew] = evaluation.tensorsOfRanks.try_emplace(number);
  if (isNew)
    for (const std::vector<Datum> &ofRank : evaluation.arguments)
      entry->second.push_back(std::get<GlobalTensor *>(ofRank[number]));
  return entry->second;
}

/// Positions as numbers; nothing, with an error, where one is open.
std::optional<Extents> numbersOf(Task &task, Operation *op, ValueRange values, StringRef what) {
  Extents numbers;
  for (Value value : values) {
    auto number = task.certain(op, value, what);
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

/// How far along each axis of the tensor from one element that the program says is there to the next.
/// Nothing, with an error, where the tensor has no element.
std::optional<std::vector<int64_t>> stepsOf(Task &task, tile::MemberOp op, const Member &member,
                                            ArrayRef<int64_t> said) {
  const GlobalTensor &tensor = *member.tensor;
  std::vector<int64_t> steps(tensor.extents.size(), 1);
  for (size_t axis = tensor.extents.size(); axis-- != 0;) {
    const int64_t extent = (*member.extents)[axis], own = tensor.extents[axis];
    if (extent > own) {
      task.fail(op, "expected at most the extents " + tile::toText(tensor.extents) + " of '" + tensor.name +
                        "', but got " + tile::toText(*member.extents));
      return std::nullopt;
    }
    const int64_t stride = tensor.strides[axis];
    if (axis + 1 == tensor.extents.size() || extent <= 1 || stride == 0 || said[axis] == stride)
      continue;
    if (said[axis] % stride != 0) {
      task.fail(op, "expected stride " + Twine(stride) + ", or a multiple of it, along axis " + Twine(axis) +
                        " of '" + tensor.name + "', but got " + Twine(said[axis]));
      return std::nullopt;
    }
    steps[axis] = said[axis] / stride;
    if (steps[axis] < 0 || (extent - 1) * steps[axis] >= own) {
      task.fail(op, "expected " + Twine(extent) + " elements with stride " + Twine(said[axis]) +
                        " along axis " + Twine(axis) + " of '" + tensor.name + "' to be among its " +
                        Twine(own) + " with stride " + Twine(stride));
      return std::nullopt;
    }
  }
  return steps;
}

/// A member that there is not has no elements, so that an access of one says so.
Step evaluateMember(Task &task, tile::MemberOp op) {
  auto *table = std::get<GlobalTensor *>(task.get(op.getAddresses()));
  const std::string what = "of a member of '" + table->name + "'";
  auto number = task.certain(op, op.getNumber(), "the number " + what);
  auto open = numbersOf(task, op, op.getExtents(), "an extent " + what);
  auto strides = numbersOf(task, op, op.getStrides(), "a stride " + what);
  if (!number || !open || !strides)
    return Step::failed;
  Member member;
  std::vector<int64_t> extents;
  const auto count = static_cast<int64_t>(table->members.size());
  member.tensor = *number >= 0 && *number < count ? table->members[*number] : nullptr;
  auto next = open->begin();
  for (int64_t extent : op.getTensor().getType().getShape())
    extents.push_back(ShapedType::isDynamic(extent) ? *next++ : extent);
  member.extents = &*task.block.evaluation.extentsOfSliced.insert(std::move(extents)).first;
  if (!member.tensor) {
    task.set(op.getTensor(), Datum(member));
    return Step::done;
  }
  auto steps = stepsOf(task, op, member, *strides);
  if (!steps)
    return Step::failed;
  member.steps = &*task.block.evaluation.extentsOfSliced.insert(std::move(*steps)).first;
  task.set(op.getTensor(), Datum(member));
  return Step::done;
}

Step evaluateWindows(Task &task, tile::WindowsOp op) {
  auto *source = std::get<GlobalTensor *>(task.get(op.getSource()));
  auto [made, isNew] = task.block.evaluation.windows.try_emplace({op, source});
  Windows &windows = made->second;
  if (isNew) {
    windows = {source, op.getWindow().getWindow(), source->extents};
    std::vector<int64_t> &extents = windows.extents;
    for (size_t axis = 0; axis < windows.window.taps.size(); ++axis) {
      // Positions have 32 bits: those beyond are never asked for.
      extents.front() = std::min<int64_t>(
          extents.front() * windows.window.count(axis, source->extents[axis + 1]), maxExtent);
      extents[axis + 1] = windows.window.taps[axis];
    }
  }
  task.set(op.getTensor(), Datum(&windows));
  return Step::done;
}

/// The box and what is said of it, where it is known what it is of.
template <class Op> Step evaluateBox(Task &task, Op op, Slice slice) {
  slice.extents = extentsOf(op.getSlice());
  for (Value position : op.getOrigin()) {
    auto at = task.certain(op, position, "a position in '" + slice.tensor->name + "'");
    if (!at)
      return Step::failed;
    slice.origin.push_back(*at);
  }
  if (op.getLimit()) {
    auto limit = task.certain(op, op.getLimit(), "a limit of '" + slice.tensor->name + "'");
    if (!limit)
      return Step::failed;
    slice.limitedAxis = static_cast<int16_t>(*op.getLimitedAxis());
    slice.limit = *limit;
  }
  if (!op.getGatheredAxes().empty())
    slice.boxAxes = tile::boxAxesOf(op.getSlice());
  slice.fill = op.getFill() ? task.number(op.getFill()) : exactInteger(slice.tensor->kind, 0);
  slice.isUnchecked = op.getUnchecked().has_value();
  task.set(op.getSlice(), Datum(slice));
  return Step::done;
}

Step evaluateSlice(Task &task, tile::SliceOp op) {
  Slice slice;
  if (const auto *windows = std::get_if<const Windows *>(&task.get(op.getTensor()))) {
    slice.windows = *windows;
    slice.tensor = slice.windows->tensor;
    slice.ofTensor = &slice.windows->extents;
  } else if (op.getTensor().getDefiningOp<tile::MemberOp>()) {
    const auto &member = std::get<Member>(task.get(op.getTensor()));
    slice.tensor = member.tensor;
    slice.ofTensor = member.extents;
    slice.steps = member.steps;
    if (!slice.tensor)
      return task.fail(op, "expected a number of a member of '" + tile::nameOf(op.getTensor()) +
                               "' that there is");
  } else {
    slice.tensor = tensorOf(task, op);
    if (!slice.tensor)
      return Step::failed;
    slice.ofTensor = &slice.tensor->extents;
    if (op.getOfAll())
      slice.ofRanks = &tensorsOfRanks(task.block.evaluation, op.getTensor());
  }
  return evaluateBox(task, op, std::move(slice));
}

Step evaluateSliceShared(Task &task, tile::SliceSharedOp op) {
  Slice slice;
  slice.view = std::make_shared<const View>(std::get<View>(task.get(op.getTile())));
  Buffer &buffer = *slice.view->buffer;
  slice.tensor = &buffer;
  const Extents &extents = slice.view->extents;
  slice.ofTensor = &*task.block.evaluation.extentsOfSliced.emplace(extents.begin(), extents.end()).first;
  return evaluateBox(task, op, std::move(slice));
}

} // namespace

void addSliceRules(Rules &rules) {
  rules.add(evaluateMember);
  rules.add(evaluateWindows);
  rules.add(evaluateSlice);
  rules.add(evaluateSliceShared);
}

} // namespace tlc::evaluator
