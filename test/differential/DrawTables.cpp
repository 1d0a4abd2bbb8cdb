// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors that are reached by tables of addresses.
#include "test/differential/Generator.h"

using namespace tlc;
using namespace tlc::differential;

namespace {
/// Tensors that the TMA alone can move: what puts load, and what tiles are combined with.
void addTensorsOfTheTma(const Body &body, std::set<int> &found, bool isInPut = false) {
  for (const Statement &statement : body) {
    if (statement.kind == Statement::Kind::atomicTile)
      found.insert(statement.to.box.tensor);
    if (isInPut && statement.kind == Statement::Kind::copy && statement.from.kind == Place::Kind::slice)
      found.insert(statement.from.box.tensor);
    for (const Body &inner : statement.bodies)
      addTensorsOfTheTma(inner, found, isInPut || statement.kind == Statement::Kind::put);
  }
}
} // namespace

void Generator::drawTables() {
  if (!draw.wants(Feature::addresses))
    return;
  draw.note(Feature::addresses);
  std::set<int> byTheTma;
  for (const LaunchTree &launch : tree.launches)
    addTensorsOfTheTma(launch.body, byTheTma);
  for (int number = 0; number < int(tree.tensors.size()); ++number) {
    TensorInfo &tensor = tree.tensors[size_t(number)];
    if (tensor.access == Access::workspace || tensor.lastStride != dsl::LastStride::one ||
        isPacked(tensor.element) || tensor.hasWindows || byTheTma.contains(number) || !draw.chance(60))
      continue;
    int64_t count = draw.between(1, 4);
    tensor.table = {count, draw.between(0, count - 1), draw.chance(40)};
  }
}
