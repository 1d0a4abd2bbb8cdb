// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scales, of numbers and of factors in memory.
#include "kernels/attention/logits/Scores.h"

#include "kernels/attention/logits/SoftCap.h"

#include <numbers>

namespace tlc::kernels {

using namespace dsl;
using std::numbers::log2e;

Fragment Scores::factor(const Global &of, const Index &batch, const Index &head) const {
  Fragment number = k.fragment(f32, {1, 1});
  copy(of.tile({batch, head}, {1, 1}), number);
  return number;
}

Scores::Scale Scores::scale() const {
  if (!problem.hasBytes())
    return {{}, problem.isCapped() ? log2e : unit * log2e};
  Fragment ofTile = k.fragment(f32, {1, 1}).named("scale");
  Operand softmax = problem.isCapped() ? Operand(log2e) : Operand(ofTile);
  return {std::move(ofTile), softmax}; // a copy would be another variable
}

void Scores::setScale(Scale &scale, const Sequence &sequence, const Index &kvHead) const {
  if (problem.hasBytes())
    scale.ofTile = factor(inputs.scaleQ, sequence.batch, sequence.head) *
                   factor(inputs.scaleK, sequence.batch, kvHead) * (unit * (problem.isCapped() ? 1 : log2e));
}

FragmentValue Scores::of(const FragmentValue &products, const Scale &scale, Loc loc) const {
  if (!problem.isCapped())
    return products;
  return problem.hasBytes() ? softCapped(products, scale.ofTile, problem.softCap, loc)
                            : softCapped(products, unit, problem.softCap, loc);
}

} // namespace tlc::kernels
