// SPDX-License-Identifier: Apache-2.0
/// \file
/// Points of a program at which ranks wait for each other.
#pragma once

#include "compiler/dsl/dsl.h"

#include <string_view>

namespace tlc::kernels {

/// A point that every rank comes to, and tells all ranks of, itself included.
class RankArrival {
public:
  /// Declares its counts.
  RankArrival(dsl::Scope &k, std::string_view name);

  // By all blocks of a launch, once.
  /// Tells all ranks when the first block comes here: what earlier launches have done is complete.
  void tellFirst() const;
  /// Tells all ranks when the last block comes here: what all blocks have done before is complete, too.
  void tellLast() const;

  /// Until all ranks have told this one.
  void wait() const;

private:
  void tell() const;

  dsl::Scope &k;
  dsl::Index rank, ranks;
  dsl::Symmetric arrived; ///< ranks
  dsl::Global blocks;     ///< of this rank that came
};

} // namespace tlc::kernels
