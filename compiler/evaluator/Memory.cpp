// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of slices, shared tiles and their views, copies, atomic operations.
#include "compiler/evaluator/SliceElements.h"
#include "dialects/tile/Fetch.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::evaluator {

Buffer &BlockState::bufferOf(tile::AllocationOpInterface op) {
  std::unique_ptr<Buffer> &buffer = buffers[op];
  if (!buffer) {
    buffer = std::make_unique<Buffer>();
    buffer->declaration = op;
    Type type = op->getResult(0).getType();
    ArrayRef<int64_t> extents = tile::extentsOf(type);
    buffer->name = op.getName().str();
    buffer->kind = kindOf(tile::elementTypeOf(type));
    buffer->extents.assign(extents.begin(), extents.end());
    buffer->elements.resize(countOf(extents));
  }
  return *buffer;
}

namespace {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

template <class Op> Step evaluateAlloc(Task &task, Op op) {
  View view{&task.block.bufferOf(op), 0, extentsOf(op.getBuffer()), {}};
  view.strides.resize(view.extents.size());
  for (int64_t axis = static_cast<int64_t>(view.extents.size()) - 1, pitch = 1; axis >= 0; --axis) {
    view.strides[axis] = pitch;
    pitch *= view.extents[axis];
  }
  task.set(op.getBuffer(), Datum(view));
  return Step::done;
}

View viewOf(const Task &task, Value tile) { return std::get<View>(task.get(tile)); }

Step evaluateSlot(Task &task, tile::SlotOp op) {
  View view = viewOf(task, op.getBuffer());
  int64_t slots = view.extents.front();
  view.offset += std::get<Cursor>(task.get(op.getCursor())).count % slots * view.strides.front();
  view.extents.erase(view.extents.begin());
  view.strides.erase(view.strides.begin());
  task.set(op.getTile(), Datum(view));
  return Step::done;
}

Step evaluateTranspose(Task &task, tile::TransposeOp op) {
  View view = viewOf(task, op.getSource());
  for (Extents *ofAxes : {&view.extents, &view.strides})
    std::swap((*ofAxes)[ofAxes->size() - 1], (*ofAxes)[ofAxes->size() - 2]);
  task.set(op.getView(), Datum(view));
  return Step::done;
}

Step evaluateRows(Task &task, tile::RowsOp op) {
  View view = viewOf(task, op.getSource());
  view.offset += static_cast<int64_t>(op.getFirst()) * view.strides.front();
  view.extents = extentsOf(op.getView());
  task.set(op.getView(), Datum(view));
  return Step::done;
}

int64_t placeIn(const View &view, ArrayRef<int64_t> position) {
  int64_t place = view.offset;
  for (auto [at, stride] : llvm::zip(position, view.strides))
    place += at * stride;
  return place;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Step evaluateLoad(Task &task, tile::LoadOp op) {
  auto elements = op.getKind()
                      ? readAllRanks(task, op, std::get<Slice>(task.get(op.getSource())), *op.getKind())
                      : readTile(task, op, op.getSource());
  if (!elements)
    return Step::failed;
  task.set(op.getValue(), Fragment{extentsOf(op.getValue()), std::move(*elements)});
  return Step::done;
}

Step evaluateStore(Task &task, tile::StoreOp op) {
  return writeTile(task, op, op.getDestination(), task.fragment(op.getValue()).elements);
}

/// Whether the blocks of the cluster fill the tile together, each with a share of it.
bool isShared(tile::CopyOp op) {
  auto put = op->getParentOfType<tile::PutOp>();
  return put && put.getChannel().getDefiningOp<tile::ChannelOp>().getMulticast() &&
         isa<tile::SliceType>(op.getSource().getType()) &&
         isa<tile::SharedType>(op.getDestination().getType());
}

/// This block brings its share of the tile to all blocks of the cluster.
Step copyShare(Task &task, tile::CopyOp op, ArrayRef<Element> elements) {
  const View own = viewOf(task, op.getDestination());
  const auto count = static_cast<int64_t>(elements.size()),
             blocks = static_cast<int64_t>(task.block.cluster.size());
  if (count % blocks != 0)
    return task.fail(op, "expected a tile that " + Twine(blocks) + " blocks can share");
  const int64_t share = count / blocks, first = task.block.rank * share;
  for (const std::unique_ptr<BlockState> &block : task.block.cluster) {
    View there = own;
    there.buffer = &block->bufferOf(own.buffer->declaration);
    for (int64_t number = first; number < first + share; ++number)
      replaceElement(*there.buffer, placeIn(there, positionOf(number, there.extents)), elements[number]);
  }
  return Step::done;
}

Step evaluateCopy(Task &task, tile::CopyOp op) {
  auto elements = readTile(task, op, op.getSource());
  if (!elements)
    return Step::failed;
  return isShared(op) ? copyShare(task, op, *elements) : writeTile(task, op, op.getDestination(), *elements);
}

/// The slice with the positions of its gathered axes; nothing if one is open.
std::optional<Slice> gatheredSlice(Task &task, Operation *op, Value slice, ValueRange indices) {
  Slice gathered = std::get<Slice>(task.get(slice));
  for (Value each : indices) {
    const auto &positions = gathered.indices.emplace_back(std::get<FragmentRef>(task.get(each)));
    const auto open =
        llvm::find_if(positions->elements, [](const Element &index) { return !isExact(index); });
    if (open == positions->elements.end())
      continue;
    task.certain(op, *open, "a position in '" + gathered.tensor->name + "'");
    return std::nullopt;
  }
  return gathered;
}

Step evaluateGather(Task &task, tile::GatherOp op) {
  auto slice = gatheredSlice(task, op, op.getSource(), op.getIndices());
  auto elements = slice ? readSlice(task, op, *slice) : std::nullopt;
  if (!elements)
    return Step::failed;
  task.set(op.getValue(), Fragment{extentsOf(op.getValue()), std::move(*elements)});
  return Step::done;
}

ElementStep stepOf(tile::CombineKind kind) {
  switch (kind) {
  case tile::CombineKind::add:
    return addElement;
  case tile::CombineKind::min:
    return lowerElement;
  case tile::CombineKind::max:
    return raiseElement;
  case tile::CombineKind::bitAnd:
    return clearBits;
  case tile::CombineKind::bitOr:
    return setBits;
  case tile::CombineKind::bitXor:
    break;
  }
  return flipBits;
}

Step evaluateScatter(Task &task, tile::ScatterOp op) {
  auto slice = gatheredSlice(task, op, op.getDestination(), op.getIndices());
  if (!slice)
    return Step::failed;
  return forEachInside(task, op, *slice, task.fragment(op.getValue()).elements,
                       op.getKind() ? stepOf(*op.getKind()) : writeElement);
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

/// A view of the element at that position; nothing if it is not in the tile.
std::optional<View> elementAt(Task &task, Operation *op, Value tile, OperandRange positions) {
  View view = viewOf(task, tile);
  Extents position;
  for (auto [operand, extent] : llvm::zip(positions, view.extents)) {
    auto at = task.certain(op, operand, "a position in a shared tile");
    if (!at)
      return std::nullopt;
    position.push_back(*at);
    if (*at >= 0 && *at < extent)
      continue;
    task.fail(op, "expected a position in '" + view.buffer->declaration.getName() + "' of " +
                      tile::toText(view.extents) + ", but got " + Twine(*at) + " along axis " +
                      Twine(position.size() - 1));
    return std::nullopt;
  }
  view.offset = placeIn(view, position);
  view.extents.assign(view.extents.size(), 1);
  return view;
}

Step evaluateLoadIndex(Task &task, tile::LoadIndexOp op) {
  std::optional<std::vector<Element>> elements;
  if (isa<tile::SliceType>(op.getSource().getType())) {
    elements = readTile(task, op, op.getSource());
  } else if (auto view = elementAt(task, op, op.getSource(), op.getPosition())) {
    elements = readView(task, op, *view);
  }
  if (!elements)
    return Step::failed;
  task.set(op.getValue(), Datum(elements->front()));
  return Step::done;
}

Step evaluateStoreIndex(Task &task, tile::StoreIndexOp op) {
  auto view = elementAt(task, op, op.getDestination(), op.getPosition());
  if (!view)
    return Step::failed;
  writeView(*view, task.number(op.getValue()));
  return Step::done;
}

Step evaluateAtomic(Task &task, tile::AtomicOp op) {
  const auto &slice = std::get<Slice>(task.get(op.getDestination()));
  ElementStep step = stepOf(op.getKind());
  if (const auto *number = std::get_if<Element>(&task.get(op.getValue())))
    return forEachInside(task, op, slice, *number, step);
  return forEachInside(task, op, slice, task.fragment(op.getValue()).elements, step);
}

/// What the element becomes, whatever the kind.
Step changeElement(Task &task, tile::AtomicFetchOp op, GlobalTensor &tensor, int64_t at, const Element &old,
                   const Element &value, const Element *expected) {
  if (op.getKind())
    return stepOf(*op.getKind())(task, op, tensor, at, value);
  bool isKnown = !expected || (isExact(old) && isExact(*expected));
  if (!isKnown)
    replaceElement(tensor, at, unspecified(old));
  else if (!expected || old.integer == expected->integer)
    replaceElement(tensor, at, value);
  return Step::done;
}

/// Of elements at one position it is open which is the first.
Step evaluateAtomicFetch(Task &task, tile::AtomicFetchOp op) {
  std::optional<Slice> slice = std::get<Slice>(task.get(op.getDestination()));
  if (!op.getIndices().empty())
    slice = gatheredSlice(task, op, op.getDestination(), op.getIndices());
  if (!slice)
    return Step::failed;
  const std::vector<Element> &values = task.fragment(op.getValue()).elements;
  const std::vector<Element> *expected =
      op.getExpected() ? &task.fragment(op.getExpected()).elements : nullptr;
  GlobalTensor &tensor = *slice->tensor;
  std::vector<Element> old(values.size(), slice->fill);
  llvm::DenseMap<int64_t, int64_t> first; // number of the element at a position
  for (int64_t number = 0, count = static_cast<int64_t>(values.size()); number < count; ++number) {
    bool breaksPromise = false;
    auto at = elementOf(*slice, number, breaksPromise);
    if (breaksPromise)
      return failUnchecked(task, op, *slice);
    if (!at)
      continue;
    if (fetchElement(task, op, tensor, *at, old[number]) == Step::failed ||
        changeElement(task, op, tensor, *at, old[number], values[number],
                      expected ? &(*expected)[number] : nullptr) == Step::failed)
      return Step::failed;
    auto [entry, isFirst] = first.try_emplace(*at, number);
    if (isFirst)
      continue;
    for (int64_t open : {entry->second, number})
      old[open] = unspecified(old[open]);
    if (!op.getKind())
      replaceElement(tensor, *at, unspecified(tensor.elements[*at]));
  }
  task.set(op.getOld(), Fragment{extentsOf(op.getOld()), std::move(old)});
  return Step::done;
}

Step evaluateCopyReduce(Task &task, tile::CopyReduceOp op) {
  const auto &slice = std::get<Slice>(task.get(op.getDestination()));
  auto elements = readTile(task, op, op.getSource());
  return elements ? forEachInside(task, op, slice, *elements, stepOf(op.getKind())) : Step::failed;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// The element that a count is; nothing if it is not in the tensor.
struct Count {
  GlobalTensor *tensor;
  std::optional<int64_t> number;
};

std::optional<Count> countAt(Task &task, Operation *op, Value operand) {
  const auto &slice = std::get<Slice>(task.get(operand));
  bool breaksPromise = false;
  Count count{slice.tensor, elementOf(slice, 0, breaksPromise)};
  if (breaksPromise)
    failUnchecked(task, op, slice);
  return breaksPromise ? std::nullopt : std::optional(count);
}

Step countUp(Task &task, Operation *op, const Count &count, const Element &by) {
  BlockState &block = task.block;
  ++block.announced;
  Known &told = count.tensor->counts[*count.number];
  learn(told, block.known);
  told[block.number] = block.announced;
  return addElement(task, op, *count.tensor, *count.number, by);
}

Step evaluateAnnounce(Task &task, tile::AnnounceOp op) {
  auto count = countAt(task, op, op.getCount());
  if (!count)
    return Step::failed;
  for (GlobalTensor *tensor : tensorsOf(std::get<Slice>(task.get(op.getCount()))))
    if (count->number && countUp(task, op, {tensor, count->number}, task.number(op.getBy())) == Step::failed)
      return Step::failed;
  return Step::done;
}

Step evaluateWaitFor(Task &task, tile::WaitForOp op) {
  auto count = countAt(task, op, op.getCount());
  auto least = task.certain(op, op.getLeast(), "a number to wait for");
  if (!count || !least)
    return Step::failed;
  if (!count->number)
    return Step::done;
  const Element &known = count->tensor->elements[*count->number];
  if (!known.defined)
    return task.fail(op, "element " + placeText(*count->tensor, *count->number) +
                             " is waited for, but has never been written");
  if (static_cast<int32_t>(known.integer) < *least)
    return Step::waits;
  learn(task.block.known, count->tensor->counts[*count->number]);
  return Step::done;
}

Step evaluateTake(Task &task, tile::TakeOp op) {
  auto count = countAt(task, op, op.getCount());
  auto view = elementAt(task, op, op.getDestination(), op.getPosition());
  if (!count || !view)
    return Step::failed;
  Element before = exactInteger(count->tensor->kind, 0);
  if (count->number) {
    before = count->tensor->elements[*count->number];
    learn(task.block.known, count->tensor->counts[*count->number]);
    if (countUp(task, op, *count, exactInteger(count->tensor->kind, 1)) == Step::failed)
      return Step::failed;
  }
  writeView(*view, before);
  return Step::done;
}

Step evaluateAllocResponse(Task &, tile::AllocResponseOp) { return Step::done; }

/// All blocks of a launch have started, so that none is left to be canceled.
Step evaluateNextBlock(Task &task, tile::NextBlockOp op) {
  auto view = elementAt(task, op, op.getDestination(), op.getPosition());
  auto n = task.certain(op, op.getN(), "a number of requests");
  if (!view || !n)
    return Step::failed;
  writeView(*view, exactInteger(view->buffer->kind, *n == 0 ? task.number(op.getOwn()).integer : -1));
  return Step::done;
}

} // namespace

std::optional<std::vector<Element>> readView(Task &task, Operation *op, const View &view) {
  std::vector<Element> elements;
  elements.reserve(countOf(view.extents));
  for (int64_t number = 0, count = countOf(view.extents); number < count; ++number) {
    Extents position = positionOf(number, view.extents);
    const Element &element = view.buffer->elements[placeIn(view, position)];
    if (!element.defined) {
      task.fail(op, "element " + positionText(position) + " of '" + view.buffer->declaration.getName() +
                        "' is read, but has never been written");
      return std::nullopt;
    }
    elements.push_back(element);
  }
  return elements;
}

void writeView(const View &view, ArrayRef<Element> elements) {
  for (auto [number, element] : llvm::enumerate(elements))
    replaceElement(*view.buffer, placeIn(view, positionOf(static_cast<int64_t>(number), view.extents)),
                   element);
}

std::string waitText(const Task &task, tile::WaitForOp op) {
  const auto &slice = std::get<Slice>(task.get(op.getCount()));
  bool breaksPromise = false;
  std::optional<int64_t> at = elementOf(slice, 0, breaksPromise);
  assert(at && "nobody waits for what is outside");
  return "it expects at least " + std::to_string(task.number(op.getLeast()).integer) + " in element " +
         placeText(*slice.tensor, *at) + ", which is " + std::to_string(slice.tensor->elements[*at].integer);
}

std::optional<std::vector<Element>> readTile(Task &task, Operation *op, Value source) {
  const Datum &datum = task.get(source);
  if (const auto *slice = std::get_if<Slice>(&datum))
    return readSlice(task, op, *slice);
  if (const auto *view = std::get_if<View>(&datum))
    return readView(task, op, *view);
  return std::get<FragmentRef>(datum)->elements;
}

Step writeTile(Task &task, Operation *op, Value destination, ArrayRef<Element> elements) {
  const Datum &datum = task.get(destination);
  if (const auto *slice = std::get_if<Slice>(&datum))
    return forEachInside(task, op, *slice, elements, writeElement);
  writeView(std::get<View>(datum), elements);
  return Step::done;
}

void addMemoryRules(Rules &rules) {
  rules.add(evaluateAlloc<tile::AllocSharedOp>);
  rules.add(evaluateAlloc<tile::AllocTensorMemoryOp>);
  rules.add(evaluateSlot);
  rules.add(evaluateTranspose);
  rules.add(evaluateRows);
  rules.add(evaluateLoad);
  rules.add(evaluateStore);
  rules.add(evaluateCopy);
  rules.add(evaluateLoadIndex);
  rules.add(evaluateStoreIndex);
  rules.add(evaluateAtomic);
  rules.add(evaluateAtomicFetch);
  rules.add(evaluateCopyReduce);
  rules.add(evaluateGather);
  rules.add(evaluateScatter);
  rules.add(evaluateAnnounce);
  rules.add(evaluateWaitFor);
  rules.add(evaluateTake);
  rules.add(evaluateAllocResponse);
  rules.add(evaluateNextBlock);
}

} // namespace tlc::evaluator
