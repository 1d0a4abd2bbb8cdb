// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tasks and how they take turns.
#include "compiler/evaluator/Machine.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tlc::evaluator {

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace {
/// "file:line:column: "
std::string placeOf(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" + Twine(place.getColumn()) +
          ": ")
      .str();
}

/// "0.5 (bound 1e-08)"
std::string textOf(const Element &element) {
  if (isUnspecified(element))
    return "a number that the language leaves open";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g (bound %.2g)", element.value, element.bound);
  return text;
}
} // namespace

std::string Evaluation::nameOf(int64_t block, bool withNumber) const {
  std::string name = withNumber ? "block " + std::to_string(block % blocksPerLaunch) : "a block";
  return ranks() == 1 ? name : name + " of rank " + std::to_string(block / blocksPerLaunch / launches);
}

Step Evaluation::fail(Operation *op, const Twine &message) {
  if (!error)
    error = Error{ErrorKind::execution, placeOf(op) + "error: " + message.str()};
  return Step::failed;
}

void Evaluation::noteAmbiguity(Operation *op, const Element &a, const Element &b) {
  if (!ambiguous.insert(op).second)
    return;
  const std::string text = placeOf(op) + "note: compares numbers that lie within each other's bounds: ";
  const auto isOfSamePlace = [&](StringRef other) { return other.starts_with(text); };
  if (llvm::none_of(report.ambiguities, isOfSamePlace)) // copies of an operation have one place
    report.ambiguities.push_back(text + textOf(a) + " and " + textOf(b));
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

const Rules &Rules::all() {
  static const Rules rules = [] {
    Rules made;
    addChannelRules(made);
    addClusterRules(made);
    addElementwiseRules(made);
    addFragmentRules(made);
    addMemoryRules(made);
    addReportRules(made);
    addControlRules(made);
    addRoleRules(made);
    addSliceRules(made);
    return made;
  }();
  return rules;
}

const Datum &Task::get(Value value) const {
  auto found = block.values.find(value);
  assert(found != block.values.end() && "operands are computed before they are used");
  return found->second;
}

std::optional<int64_t> Task::certain(Operation *op, const Element &element, StringRef what) {
  if (isExact(element))
    return element.integer;
  std::string comparisons;
  for (const std::string &ambiguity : block.evaluation.report.ambiguities)
    comparisons += "\n" + ambiguity;
  fail(op, what +
               " depends on a number that is not certain: on one that the language leaves open, such as a "
               "quotient by 0, or on a comparison of inexact numbers" +
               comparisons);
  return std::nullopt;
}

void Task::enter(Operation *owner, Region &region) {
  frames.push_back({owner, &region.front(), region.front().begin()});
}

Step Task::run(bool &hasMoved) {
  while (!isFinished())
    if (Step step = advance(hasMoved); step != Step::done)
      return step;
  return Step::waits;
}

Step Task::advance(bool &hasMoved) {
  size_t depth = frames.size() - 1;
  if (frames[depth].next == frames[depth].body->end()) {
    leave();
    hasMoved = true;
    return Step::done;
  }
  Operation *op = &*frames[depth].next;
  Evaluation &evaluation = block.evaluation;
  if (++evaluation.report.steps > evaluation.options.maximumSteps)
    return fail(op, "expected a program of at most " + Twine(evaluation.options.maximumSteps) +
                        " operations, but it has not ended yet");
  const Rule *rule = Rules::all().find(op->getName().getStringRef());
  if (!rule)
    return fail(op, "the evaluator has no rule for '" + op->getName().getStringRef() + "'");
  if (!block.buffersOfCluster.empty() && waitsForCluster(op))
    return Step::waits;
  Step step = (*rule)(*this, op);
  if (step == Step::done) {
    ++frames[depth].next;
    hasMoved = true;
  }
  return step;
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

Step runInTurn(ArrayRef<std::unique_ptr<BlockState>> blocks, bool &hasMoved, Task *&waiting) {
  for (const std::unique_ptr<BlockState> &block : blocks)
    for (size_t i = 0; i < block->tasks.size(); ++i) { // roles join at the end
      Task &task = block->tasks[i];
      if (task.run(hasMoved) == Step::failed)
        return Step::failed;
      // Of a block that waits for its roles, the roles say why.
      if (!task.isFinished() && (!waiting || isa<tile::RolesOp>(*waiting->frames.back().next)))
        waiting = &task;
    }
  return Step::done;
}

Step failWaiting(Task &task) {
  Operation *op = &*task.frames.back().next;
  Evaluation &evaluation = task.block.evaluation;
  std::string block = evaluation.nameOf(task.block.number, /*withNumber=*/false);
  std::string who = task.role.empty() ? block : ("role '" + task.role + "'").str();
  bool severalRanks = evaluation.ranks() > 1;
  if (severalRanks && !task.role.empty())
    who += " of " + block;
  std::string where = severalRanks ? "every rank" : "its cluster";
  auto wait = dyn_cast<tile::WaitForOp>(op);
  return task.fail(op, who + " waits here for ever: every role and block of " + where +
                           " has ended or waits" +
                           (wait ? ", and so have the blocks that came before, and later ones may not have "
                                   "started; " +
                                       waitText(task, wait)
                                 : ""));
}

Step runAlone(Task &task, Operation *owner, Region &region) {
  Task alone{task.block, task.role, task.warps};
  alone.enter(owner, region);
  bool hasMoved = false;
  if (alone.run(hasMoved) == Step::failed)
    return Step::failed;
  if (alone.isFinished())
    return Step::done;
  return task.fail(owner, "expected nothing that waits in a branch of warps");
}

} // namespace tlc::evaluator
