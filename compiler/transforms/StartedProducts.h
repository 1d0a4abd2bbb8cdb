// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products that authors' roles start and wait for, by tcgen05.
#pragma once

#include "dialects/tile/Tile.h"
#include "runtime/target/Target.h"

#include <string>

namespace tlc::tile {

/// Why the products of the kernel's roles cannot all add in tensor memory; empty if they can. The kernel is
/// in phase `promoted`.
std::string startedProductsProblem(KernelOp kernel, const Target &target);

/// Lets them add there. One thread of the role starts a product, whose sum is loaded where the role has
/// waited for it; a wait is for all products of the role.
void startInTensorMemory(KernelOp kernel, const Target &target);

} // namespace tlc::tile
