// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which warps execute which part of a PTX function: roles are branches on the number of the warp.
#pragma once

#include "compiler/codegen/PtxFlow.h"

#include <bitset>
#include <vector>

namespace tlc {

/// One bit for each warp of a block.
using WarpSet = std::bitset<32>;

/// For each block of the function the warps, of the first `warps` of a one-dimensional block, that may
/// execute it. Branches are followed by the numbers that follow from %tid.x alone, for each lane; where they
/// do not decide, both ways.
std::vector<WarpSet> warpsOfBlocks(const PtxFunction &function, unsigned warps);

} // namespace tlc
