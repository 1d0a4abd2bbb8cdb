// SPDX-License-Identifier: Apache-2.0
#include "compiler/strategies/Strategy.h"

const tlc::tile::Strategy *tlc::tile::findStrategy(llvm::StringRef name) {
  for (const Strategy *strategy : {&copiesAhead, &loadMath, &loadMathStore})
    if (strategy->name == name)
      return strategy;
  return nullptr;
}
