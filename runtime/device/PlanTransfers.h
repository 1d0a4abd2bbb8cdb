// SPDX-License-Identifier: Apache-2.0
/// \file
/// What copy engines have to do for a launch: rounds of transfers as copies between addresses.
#pragma once

#include "runtime/device/LaunchPlan.h"

namespace tlc {

/// The transfers of the variant, for arguments that have been checked. `launches` are those that are planned.
Result<std::vector<PlannedTransfer>> planTransfers(const Artifact &artifact, const Variant &variant,
                                                   const LaunchArguments &arguments,
                                                   const std::vector<int64_t> &dimensions,
                                                   int64_t multiprocessors,
                                                   std::span<const PlannedLaunch> launches);

} // namespace tlc
