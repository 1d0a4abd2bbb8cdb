// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies of boxes, element by element, and counts that are set.
#include "compiler/evaluator/Transfers.h"

#include "compiler/evaluator/TensorElements.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/support/Excerpt.h"

using namespace mlir;

namespace tlc::evaluator {

namespace {
/// The row-major number of the element there.
int64_t numberOf(ArrayRef<int64_t> position, ArrayRef<int64_t> extents) {
  int64_t number = 0;
  for (auto [at, extent] : llvm::zip(position, extents))
    number = number * extent + at;
  return number;
}
} // namespace

Transfers::Transfers(Evaluation &evaluation, tile::KernelOp kernel, int64_t rank, int64_t numbersFrom)
    : evaluation(evaluation), kernel(kernel), rank(rank), numbersFrom(numbersFrom) {
  for (auto [type, argument] : llvm::zip(kernel.getArgumentTypes(), evaluation.arguments[size_t(rank)]))
    if (type.isIndex())
      dimensions.push_back(std::get<Element>(argument).integer);
  auto module = kernel->getParentOfType<ModuleOp>();
  if (auto transfers = module->getAttrOfType<ArrayAttr>(program::ProgramDialect::transfersAttrName))
    all = llvm::to_vector(transfers.getAsRange<program::TransferAttr>());
}

Step Transfers::fail(program::TransferAttr transfer, const Twine &message) {
  return evaluation.fail(kernel, "transfer '" + excerpt(transfer.getName().str()) + "': " + message);
}

Step Transfers::reach(int64_t launch, Known &known) {
  join(known, launch);
  for (; next < all.size() && all[next].getAfter() == launch; ++next) {
    program::TransferAttr transfer = all[next];
    bool isBeside = transfer.getUntil() > transfer.getAfter();
    if (!isBeside)
      join(known, std::numeric_limits<int64_t>::max());
    int64_t number = numbersFrom + int64_t(next) * blocksPerLaunch;
    if (run(transfer, number, known) == Step::failed)
      return Step::failed;
    underWay.push_back({transfer.getUntil(), number});
    if (!isBeside)
      join(known, launch);
  }
  return Step::done;
}

void Transfers::join(Known &known, int64_t launch) {
  llvm::erase_if(underWay, [&](const UnderWay &each) {
    if (each.until > launch)
      return false;
    known[launchOf(each.number)] = 1;
    return true;
  });
}

Step Transfers::run(program::TransferAttr transfer, int64_t firstNumber, Known &known) {
  std::optional<int64_t> rounds = evaluate(transfer, transfer.getRounds());
  if (!rounds)
    return Step::failed;
  Known before = known; // rounds are not ordered among each other
  for (int64_t round = 0; round < *rounds; ++round) {
    BlockState block(evaluation, kernel);
    block.number = firstNumber + round;
    block.known = before;
    Copies copies;
    dimensions.push_back(round);
    Step step = runRound(transfer, block, copies);
    dimensions.pop_back();
    if (step == Step::failed)
      return Step::failed;
    if (copies.areNone || copies.areInside) // made in the order of launches
      known[block.number] = block.announced + 1;
  }
  return Step::done;
}

Step Transfers::runRound(program::TransferAttr transfer, BlockState &block, Copies &copies) {
  Task task{block};
  for (program::TransferCopyAttr copy : transfer.getCopies())
    if (copyBox(transfer, copy, task, copies) == Step::failed)
      return Step::failed;
  if (!transfer.getSets())
    return Step::done;
  std::vector<int64_t> one(transfer.getSets().getPosition().size(), 1);
  std::optional<Place> place = placeOf(transfer, transfer.getSets(), one);
  std::optional<int64_t> value = place ? evaluate(transfer, transfer.getValue()) : std::nullopt;
  if (!value)
    return Step::failed;
  int64_t number = numberOf(place->position, place->tensor->extents);
  ++block.announced;
  Known &told = place->tensor->counts[number];
  learn(told, block.known);
  told[block.number] = block.announced;
  return writeElement(task, kernel, *place->tensor, number, exactInteger(place->tensor->kind, *value));
}

Step Transfers::copyBox(program::TransferAttr transfer, program::TransferCopyAttr copy, Task &task,
                        Copies &copies) {
  std::vector<int64_t> extents;
  for (program::HostExprAttr expr : copy.getExtents()) {
    std::optional<int64_t> extent = evaluate(transfer, expr);
    if (!extent)
      return Step::failed;
    extents.push_back(*extent);
  }
  if (llvm::is_contained(extents, 0))
    return Step::done;
  auto alongAllAxes = [&](program::PlaceAttr place) {
    SmallVector<int64_t> all(place.getPosition().size() - extents.size(), 1);
    llvm::append_range(all, extents);
    return all;
  };
  std::optional<Place> from = placeOf(transfer, copy.getFrom(), alongAllAxes(copy.getFrom())),
                       to = placeOf(transfer, copy.getTo(), alongAllAxes(copy.getTo()));
  if (!from || !to)
    return Step::failed;
  copies.areNone = false;
  copies.areInside |= from->rank == rank && to->rank == rank;
  int64_t count = llvm::product_of(extents); // inside of both tensors
  for (int64_t number = 0; number < count; ++number) {
    std::vector<int64_t> source = from->position, destination = to->position;
    Extents inBox = positionOf(number, extents);
    auto move = [&](std::vector<int64_t> &position) {
      for (size_t axis = 0; axis < extents.size(); ++axis)
        position[position.size() - extents.size() + axis] += inBox[axis];
    };
    move(source);
    move(destination);
    Element element;
    if (readElement(task, kernel, *from->tensor, numberOf(source, from->tensor->extents), element) ==
            Step::failed ||
        writeElement(task, kernel, *to->tensor, numberOf(destination, to->tensor->extents), element) ==
            Step::failed)
      return Step::failed;
  }
  evaluation.report.steps += uint64_t(count);
  return Step::done;
}

std::optional<Transfers::Place> Transfers::placeOf(program::TransferAttr transfer, program::PlaceAttr place,
                                                   ArrayRef<int64_t> extents) {
  int64_t whose = rank;
  if (place.getRank()) {
    std::optional<int64_t> given = evaluate(transfer, place.getRank());
    if (!given)
      return std::nullopt;
    if (*given >= evaluation.ranks()) {
      fail(transfer,
           "expected a rank from 0 to " + Twine(evaluation.ranks() - 1) + ", but got " + Twine(*given));
      return std::nullopt;
    }
    whose = *given;
  }
  int64_t ordinal = place.getTensor();
  Place found{.rank = whose};
  for (auto [type, argument] : llvm::zip(kernel.getArgumentTypes(), evaluation.arguments[size_t(whose)]))
    if (isa<tile::GlobalType>(type) && ordinal-- == 0)
      found.tensor = std::get<GlobalTensor *>(argument);
  if (!found.tensor || found.tensor->extents.size() != extents.size() ||
      place.getPosition().size() != extents.size()) {
    fail(transfer, "expected a place in a tensor of the program");
    return std::nullopt;
  }
  for (auto [axis, expr] : llvm::enumerate(place.getPosition())) {
    std::optional<int64_t> position = evaluate(transfer, expr);
    if (!position)
      return std::nullopt;
    if (int64_t extent = found.tensor->extents[axis]; *position + extents[axis] > extent) {
      fail(transfer, "expected elements of '" + found.tensor->name + "' from 0 to " + Twine(extent - 1) +
                         " along axis " + Twine(axis) + ", but got " + Twine(*position) + " to " +
                         Twine(*position + extents[axis] - 1));
      return std::nullopt;
    }
    found.position.push_back(*position);
  }
  return found;
}

std::optional<int64_t> Transfers::evaluate(program::TransferAttr transfer, program::HostExprAttr expr) {
  std::optional<int64_t> value = expr.getExpr().evaluate(dimensions, evaluation.options.multiprocessors);
  if (value && *value >= 0 && *value <= std::numeric_limits<int32_t>::max())
    return value;
  fail(transfer, "expected numbers that are at least 0 and have at most 31 bits, but '" + expr.getText() +
                     "' is not such a number");
  return std::nullopt;
}

} // namespace tlc::evaluator
