// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scores that a soft cap keeps between -cap and cap.
#pragma once

#include "compiler/dsl/dsl.h"

#include <numbers>

namespace tlc::kernels {

/// cap tanh(scale products / cap). tanh(x) = 1 - 2 / (exp(2 x) + 1) does not overflow, and is off by what
/// rounding the cap leaves. `scale` is a number or a fragment of one.
template <class Scale>
dsl::FragmentValue softCapped(const dsl::FragmentValue &products, const Scale &scale, double cap,
                              dsl::Loc loc = dsl::Loc::current()) {
  double twice = 2 * std::numbers::log2e / cap;
  return cap - 2 * cap / (exp2(products * (scale * twice), loc) + 1);
}

} // namespace tlc::kernels
