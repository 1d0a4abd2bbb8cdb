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
  if (!draw.wants(Feature::ranks) && !draw.isForced(Feature::transfer))
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
    if (canBe && draw.chance(60))
      tensor.shift = draw.between(0, 3);
    if (canBe && tensor.access == Access::input && !isPacked(tensor.element) &&
        draw.wants(Feature::transfer)) {
      draw.note(Feature::transfer);
      // Waits of a block whose warps have roles would be the roles'.
      tensor.transfer = {.shift = draw.between(0, 3),
                         .rounds = draw.between(1, 3),
                         .counted = tree.roles.empty() && draw.chance(60)};
    }
  }
}

/// Some loads become the largest of what all ranks have, and ranks announce to all at once.
void Generator::drawAllRanks() {
  if (tree.ranks == 1 || !findTarget(tree.target)->multimem || !draw.wants(Feature::allRanks))
    return;
  draw.note(Feature::allRanks);
  tree.announcesToAll = draw.chance(50);
  for (LaunchTree &launch : tree.launches)
    forEachLoad(launch.body, [&](Box &box) {
      const TensorInfo &tensor = tree.tensors[size_t(box.tensor)];
      const bool canBe = tensor.shift && !tensor.transfer && tensor.access == Access::input &&
                         isInteger(tensor.element) && bitsOf(tensor.element) >= 32 && !box.window &&
                         box.eviction == dsl::Eviction::normal &&
                         std::ranges::none_of(box.origin, mentionsElements);
      box.ofAll = canBe && draw.chance(60);
    });
}
