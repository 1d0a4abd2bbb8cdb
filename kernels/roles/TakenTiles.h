// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles that a block takes when it is ready for them, by number: one of its roles takes a number, and hands
/// it to the others through shared memory.
#pragma once

#include "compiler/dsl/dsl.h"
#include "runtime/target/BlockBudget.h"

#include <functional>

namespace tlc::kernels {

class TakenTiles {
public:
  using Body = std::function<void(const dsl::Index &number)>;

  /// Outside of roles. The role that takes numbers may be ahead of the others by `slots`.
  TakenTiles(dsl::Scope &k, int64_t slots);

  /// Executed by the role that takes them: `write` stores the number of the block's n-th tile to element 0.
  /// The first one that is not below `count` ends the loop; there are at most `most`, that one included.
  void take(const dsl::Index &most, const dsl::Index &count,
            const std::function<void(const dsl::Shared &number, const dsl::Index &n)> &write,
            const Body &body) const;
  /// Executed by each of the other roles, with the same arguments.
  void follow(const dsl::Index &most, const dsl::Index &count, const Body &body) const;

private:
  void forEach(const dsl::Index &most, const dsl::Index &count,
               const std::function<dsl::Index(const dsl::Index &n)> &next, const Body &body) const;

  dsl::Scope &k;
  dsl::Shared numbers;
  dsl::Channel taken;
};

/// What they take of shared memory, a count by which blocks take included.
void addTakenTiles(BlockBudget &block, int64_t slots);

} // namespace tlc::kernels
