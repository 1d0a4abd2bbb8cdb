// SPDX-License-Identifier: Apache-2.0
/// \file
/// The role that stores tiles while the next ones are computed.
#pragma once

#include "compiler/strategies/Strategy.h"

namespace tlc::tile {

/// The role with the stores of a kernel that it can execute; nothing if there are none, or the candidate is
/// to have no such role. Remarks say why it leaves the others to the warps that compute.
std::optional<RoleKind> storeRole(Candidate candidate, const CopyGroups &ahead, int64_t warps);

} // namespace tlc::tile
