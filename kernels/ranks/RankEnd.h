// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last launch of programs whose ranks access each other's memory.
#pragma once

#include "compiler/dsl/dsl.h"

namespace tlc::kernels {

/// Where all ranks meet: no rank needs another one's memory any more.
class RankEnd {
public:
  /// Declares its count.
  explicit RankEnd(dsl::Scope &k);

  /// The body of a launch, which ends when earlier launches of all ranks have ended.
  void meet() const;

private:
  dsl::Scope &k;
  dsl::Index rank, ranks;
  dsl::Symmetric finished; ///< ranks
};

} // namespace tlc::kernels
