// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts of the hardware that not every target has, for operations to name the one they need.
#pragma once

#include "runtime/target/Target.h"

namespace tlc {

enum class Unit : uint8_t {
  cluster,
  cpAsync,
  float4,
  float8,
  launchControl,
  mbarrier,
  mmaSync,
  multimem,
  setmaxnreg,
  stmatrix,
  tcgen05,
  tma,
  wgmma
};

/// As in "expected a target with a tensor memory accelerator".
const char *describe(Unit unit);
bool hasUnit(const Target &target, Unit unit);

} // namespace tlc
