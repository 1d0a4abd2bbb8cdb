// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws what several ranks do with each other's tensors.
#include "runtime/target/Target.h"
#include "test/differential/Generator.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace tlc;
using namespace tlc::differential;

namespace {
/// Tensors that the TMA adds to, which it does in the memory of one device alone.
void addTensorsOfTiles(const Body &body, std::set<int> &found) {
  for (const Statement &statement : body) {
    if (statement.kind == Statement::Kind::atomicTile)
      found.insert(statement.to.box.tensor);
    for (const Body &inner : statement.bodies)
      addTensorsOfTiles(inner, found);
  }
}

bool mentionsElements(const IndexNode &node) {
  return node.kind == IndexKind::elements || std::ranges::any_of(node.operands, mentionsElements);
}

/// Copies of boxes of tensors to fragments.
void forEachLoad(Body &body, const std::function<void(Box &)> &visit) {
  for (Statement &statement : body) {
    if (statement.kind == Statement::Kind::copy && statement.from.kind == Place::Kind::slice &&
        statement.to.kind == Place::Kind::variable && statement.from.box.tensor >= 0)
      visit(statement.from.box);
    for (Body &inner : statement.bodies)
      forEachLoad(inner, visit);
  }
}
} // namespace

/// Some of the tensors become symmetric, and each rank works on those of another one.
void Generator::drawRanks() {
  const bool wantsAll = draw.isForced(Feature::allRanks);
  if (!draw.wants(Feature::ranks) && !draw.isForced(Feature::transfer) && !wantsAll)
    return;
  draw.note(Feature::ranks);
  tree.ranks = draw.between(2, 4);
  std::set<int> added;
  for (const LaunchTree &launch : tree.launches)
    addTensorsOfTiles(launch.body, added);
  for (int number = 0; number < int(tree.tensors.size()); ++number) {
    TensorInfo &tensor = tree.tensors[size_t(number)];
    bool canBe = tensor.workspace.order == dsl::TensorOrder::natural && !added.contains(number) &&
                 tensor.lastStride == dsl::LastStride::one && !tensor.table && !tensor.hasWindows;
    if (canBe && draw.chance(wantsAll ? 95 : 60))
      tensor.shift = draw.between(0, 3);
    if (canBe && tensor.access == Access::input && !isPacked(tensor.element) && !wantsAll &&
        draw.wants(Feature::transfer)) {
      draw.note(Feature::transfer);
      // Waits of a block whose warps have roles would be the roles'.
      tensor.transfer = {.shift = draw.between(0, 3),
                         .rounds = draw.between(1, 3),
                         .counted = tree.roles.empty() && draw.chance(60)};
    }
  }
}

/// How elements of all ranks become one. Sums leave the range that checks of the program know.
std::optional<Function> Generator::drawOfAll(const Box &box) {
  const TensorInfo &tensor = tree.tensors[size_t(box.tensor)];
  const int64_t bits = bitsOf(tensor.element);
  const bool canBe = tensor.shift && !tensor.transfer && tensor.access == Access::input && !box.window &&
                     box.eviction == dsl::Eviction::normal &&
                     std::ranges::none_of(box.origin, mentionsElements);
  // Of 16 bits there must be pairs.
  const bool isHalf = tensor.element == ElementType::f16 || tensor.element == ElementType::bf16;
  if (!canBe || (isHalf ? tensor.alignment < 16 || !draw.chance(30) : bits < 32) || !draw.chance(70))
    return std::nullopt;
  if (isFloat(tensor.element) && !isHalf)
    return draw.has(Feature::report) ? std::nullopt : std::optional(Function::add);
  return draw.chance(50) ? Function::min : Function::max;
}

/// Some loads are of what all ranks have, and ranks announce to all at once.
void Generator::drawAllRanks() {
  if (tree.ranks == 1 || !findTarget(tree.target)->multimem || !draw.wants(Feature::allRanks))
    return;
  draw.note(Feature::allRanks);
  tree.announcesToAll = draw.chance(50);
  for (LaunchTree &launch : tree.launches)
    forEachLoad(launch.body, [&](Box &box) { box.ofAll = drawOfAll(box); });
}
