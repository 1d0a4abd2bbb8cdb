// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of tensors, and who has accessed them last.
#include "compiler/evaluator/TensorElements.h"

#include <functional>

using namespace mlir;

namespace tlc::evaluator {

std::string placeText(const GlobalTensor &tensor, int64_t element) {
  return positionText(positionOf(element, tensor.extents)) + " of '" + tensor.name + "'";
}

namespace {

/// What this block does to an element, and what another one does.
Step failRace(Task &task, Operation *op, const GlobalTensor &tensor, int64_t element, StringRef does,
              const Touch &other, StringRef otherDoes) {
  std::string whom =
      other.block == Touch::several ? "other blocks" : task.block.evaluation.nameOf(other.block);
  return task.fail(op, task.block.evaluation.nameOf(task.block.number) + " " + does + " element " +
                           placeText(tensor, element) + ", which in the same launch is " + otherDoes +
                           " by " + whom + ", and blocks run in any order");
}

/// Whether another block did that, and has not announced since to this one that it has.
bool isUnordered(const Task &task, const Touch &touch) {
  return touch.block != Touch::nobody && touch.block != task.block.number &&
         (touch.block == Touch::several || (touch.announced >= task.block.known.lookup(touch.block) &&
                                            !task.block.known.contains(launchOf(touch.block))));
}

/// The same of what was done last to an element.
bool isUnordered(const Task &task, GlobalTensor &tensor, int64_t number, AccessKind kind) {
  const Touch last = tensor.accesses.of(number, kind);
  if (last.block != Touch::several || !task.block.evaluation.counts)
    return isUnordered(task, last);
  return llvm::any_of(tensor.several[{number, int64_t(kind)}],
                      [&](const Touch &touch) { return isUnordered(task, touch); });
}

void note(const Task &task, GlobalTensor &tensor, int64_t number, AccessKind kind) {
  const Touch last = tensor.accesses.of(number, kind), own = {task.block.number, task.block.announced};
  const bool isAlone = !isUnordered(task, tensor, number, kind);
  tensor.accesses.note(number, kind, isAlone ? own : Touch{.block = Touch::several}, tensor.elements.size());
  if (isAlone)
    return;
  if (task.block.evaluation.counts) {
    SmallVector<Touch> &all = tensor.several[{number, int64_t(kind)}];
    if (last.block != Touch::several)
      all = {last};
    all.push_back(own);
  }
}

/// A kind by which another block changes the element without an order.
std::optional<AccessKind> findCombining(const Task &task, GlobalTensor &tensor, int64_t number) {
  if (tensor.accesses.hasCombining())
    for (AccessKind kind : combiningKinds)
      if (isUnordered(task, tensor, number, kind))
        return kind;
  return std::nullopt;
}

/// What is done to an element: "block 0 adds to it", "it is added to".
struct AccessWords {
  AccessKind kind;
  StringLiteral does, isDone;
};
/// By kind.
constexpr AccessWords accessWords[] = {{AccessKind::read, "reads", "read"},
                                       {AccessKind::write, "writes", "written"},
                                       {AccessKind::add, "adds to", "added to"},
                                       {AccessKind::min, "lowers", "lowered"},
                                       {AccessKind::max, "raises", "raised"},
                                       {AccessKind::bitAnd, "clears bits of", "cleared of bits"},
                                       {AccessKind::bitOr, "sets bits of", "given bits"},
                                       {AccessKind::bitXor, "flips bits of", "flipped in bits"},
                                       {AccessKind::fetch, "fetches and changes", "fetched and changed"}};

/// What several blocks may do to an element in any order, if all of them do that.
Step beginCombining(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, AccessKind own) {
  const AccessWords &words = accessWords[size_t(own)];
  if (!tensor.elements[number].defined)
    return task.fail(op, "element " + placeText(tensor, number) + " is " + words.isDone +
                             ", but has never been written");
  for (const AccessWords &other : accessWords)
    if (other.kind != own && isUnordered(task, tensor, number, other.kind))
      return failRace(task, op, tensor, number, words.does, tensor.accesses.of(number, other.kind),
                      other.isDone);
  note(task, tensor, number, own);
  return Step::done;
}

/// The smaller or the larger one stays; of sums so far the bound stays with the number.
template <AccessKind own>
Step compareElement(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element) {
  if (beginCombining(task, op, tensor, number, own) == Step::failed)
    return Step::failed;
  constexpr bool isMinimum = own == AccessKind::min;
  Element &known = tensor.elements[number];
  tensor.sums.erase(number);
  if (tensor.kind.isFloat) {
    known = isMinimum ? minimum(tensor.kind, known, element) : maximum(tensor.kind, known, element);
    return Step::done;
  }
  // Integers are kept as their type has them: those without a sign are not negative.
  bool isCertain = isExact(known) && isExact(element), isLess = element.integer < known.integer;
  if (isLess == isMinimum)
    known = element;
  known = isCertain ? known : unspecified(known);
  return Step::done;
}

template <AccessKind own, class Combine>
Step combineBits(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element,
                 Combine combine) {
  if (beginCombining(task, op, tensor, number, own) == Step::failed)
    return Step::failed;
  Element &known = tensor.elements[number];
  bool isCertain = isExact(known) && isExact(element);
  known = exactInteger(tensor.kind, combine(known.integer, element.integer));
  known = isCertain ? known : unspecified(known);
  return Step::done;
}

} // namespace

Step readElement(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, Element &into) {
  if (std::optional<AccessKind> kind = findCombining(task, tensor, number))
    return failRace(task, op, tensor, number, "reads", tensor.accesses.of(number, *kind), "written");
  // What several blocks have written is the same.
  if (const Touch written = tensor.accesses.of(number, AccessKind::write);
      written.block != Touch::several && isUnordered(task, tensor, number, AccessKind::write))
    return failRace(task, op, tensor, number, "reads", written, "written");
  into = tensor.elements[number];
  if (!into.defined)
    return task.fail(op, "element " + placeText(tensor, number) + " is read, but has never been written");
  note(task, tensor, number, AccessKind::read);
  return Step::done;
}

Step writeElement(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element) {
  const auto failAfter = [&](AccessKind kind, StringRef does, StringRef otherDoes) {
    return failRace(task, op, tensor, number, does, tensor.accesses.of(number, kind), otherDoes);
  };
  Element &known = tensor.elements[number];
  bool changes = !known.defined || !isSame(tensor.kind, known, element);
  if (isUnordered(task, tensor, number, AccessKind::write) && changes)
    return failAfter(AccessKind::write, "writes", "given another number");
  if (std::optional<AccessKind> kind = findCombining(task, tensor, number))
    return failAfter(*kind, "writes", "given another number");
  if (isUnordered(task, tensor, number, AccessKind::read) && changes)
    return failAfter(AccessKind::read, "changes", "read");
  note(task, tensor, number, AccessKind::write);
  tensor.accesses.forgetCombining(number);
  tensor.sums.erase(number);
  known = element;
  return Step::done;
}

Step addElement(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element) {
  if (beginCombining(task, op, tensor, number, AccessKind::add) == Step::failed)
    return Step::failed;
  Element &known = tensor.elements[number];
  if (!tensor.kind.isFloat) {
    auto sum = static_cast<uint64_t>(known.integer) + static_cast<uint64_t>(element.integer);
    bool isCertain = isExact(known) && isExact(element);
    known = exactInteger(tensor.kind, static_cast<int64_t>(sum));
    known = isCertain ? known : unspecified(known);
    return Step::done;
  }
  auto [sum, isNew] = tensor.sums.try_emplace(number);
  if (isNew)
    sum->second.add(known);
  sum->second.add(element);
  known = sum->second.result(tensor.kind, ordinarySums(tensor.kind));
  constexpr double smallestNormal = 0x1p-126; // sums of f32 below it may be 0
  if (tensor.kind.bits == 32 && known.value != 0 && std::abs(known.value) < smallestNormal)
    known.bound += smallestNormal;
  return Step::done;
}

Step fetchElement(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, Element &old) {
  const AccessWords &words = accessWords[size_t(AccessKind::fetch)];
  old = tensor.elements[number];
  if (!old.defined)
    return task.fail(op, "element " + placeText(tensor, number) + " is " + words.isDone +
                             ", but has never been written");
  for (const AccessWords &other : accessWords)
    if (isUnordered(task, tensor, number, other.kind))
      return failRace(task, op, tensor, number, words.does, tensor.accesses.of(number, other.kind),
                      other.isDone);
  note(task, tensor, number, AccessKind::fetch);
  return Step::done;
}

void replaceElement(GlobalTensor &tensor, int64_t number, const Element &element) {
  tensor.sums.erase(number);
  tensor.elements[number] = element;
}

Step lowerElement(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element) {
  return compareElement<AccessKind::min>(task, op, tensor, number, element);
}

Step raiseElement(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element) {
  return compareElement<AccessKind::max>(task, op, tensor, number, element);
}

Step clearBits(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element) {
  return combineBits<AccessKind::bitAnd>(task, op, tensor, number, element, std::bit_and());
}
Step setBits(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element) {
  return combineBits<AccessKind::bitOr>(task, op, tensor, number, element, std::bit_or());
}
Step flipBits(Task &task, Operation *op, GlobalTensor &tensor, int64_t number, const Element &element) {
  return combineBits<AccessKind::bitXor>(task, op, tensor, number, element, std::bit_xor());
}

} // namespace tlc::evaluator
