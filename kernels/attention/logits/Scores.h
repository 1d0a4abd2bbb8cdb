// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of products of Q and K: scores, scaled and capped.
#pragma once

#include "kernels/attention/problem/Inputs.h"

namespace tlc::kernels {

class Scores {
public:
  Scores(dsl::Scope &k, const Inputs &inputs)
      : k(k), inputs(inputs), problem(inputs.problem), unit(problem.scoreScale()) {}

  /// What scores are multiplied by: a number, or of 8-bit elements a variable that `setScale` sets for a
  /// tile.
  struct Scale {
    dsl::Fragment ofTile; ///< the variable
    dsl::Operand softmax; ///< with log2(e)
  };
  Scale scale() const;
  void setScale(Scale &scale, const Sequence &sequence, const dsl::Index &kvHead) const;
  /// Of products of Q and K: scores as the softmax takes them.
  dsl::FragmentValue of(const dsl::FragmentValue &products, const Scale &scale,
                        dsl::Loc loc = dsl::Loc::current()) const;

  /// A head's factor, of 8-bit elements.
  dsl::Fragment factor(const dsl::Global &of, const dsl::Index &batch, const dsl::Index &head) const;

private:
  dsl::Scope &k;
  const Inputs &inputs;
  const AttentionProblem &problem;
  double unit; ///< of products, beside heads' factors
};

} // namespace tlc::kernels
