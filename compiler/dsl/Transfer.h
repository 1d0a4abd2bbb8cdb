// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies between tensors, of this rank or of others, that no kernel makes.
#pragma once

#include "compiler/dsl/Handles.h"

#include <functional>

namespace tlc::dsl::inline v1 {

/// An element of a tensor, of a symmetric one on some rank: one position per axis.
struct TransferPlace {
  Global tensor;
  std::vector<Index> position;
};

/// What a round of a transfer does.
class Transfer {
public:
  explicit Transfer(std::shared_ptr<Trace> trace) : trace(std::move(trace)) {}

  /// Copies a box, inside of both tensors, of so many elements along their last axes, 1 to 4, and one along
  /// others. Both have the same type, of whole bytes, and the last stride 1.
  void copy(const TransferPlace &from, const TransferPlace &to, const std::vector<Index> &extents,
            Loc loc = Loc::current()) const;
  /// Sets an element of a count to `value` when all copies of the round are complete: a symmetric workspace
  /// of i32 that begins as zeros. Nothing else changes that element. Once in a body.
  void set(const Global &counts, const std::vector<Index> &position, const Index &value = 1,
           Loc loc = Loc::current()) const;

private:
  std::shared_ptr<Trace> trace;
};

using TransferBody = std::function<void(const Transfer &, const Index &)>;

} // namespace tlc::dsl::inline v1
