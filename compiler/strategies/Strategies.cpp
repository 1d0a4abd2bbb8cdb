// SPDX-License-Identifier: Apache-2.0
#include "compiler/strategies/Strategy.h"

using namespace tlc;
using namespace tlc::tile;

llvm::ArrayRef<const Strategy *> tile::allStrategies() {
  static const Strategy *const all[] = {&copiesAhead, &loadMath, &loadCompute, &loadScoresOutput,
                                        &loadMatrixMath};
  return all;
}

const Strategy *tile::findStrategy(llvm::StringRef name) {
  const auto *found =
      llvm::find_if(allStrategies(), [&](const Strategy *strategy) { return strategy->name == name; });
  return found == allStrategies().end() ? nullptr : *found;
}
