// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether an artifact is consistent in itself: every index in range, every
/// expression well formed, every limit of the target kept. Devices verify what
/// they load, so that launching relies on it.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Result.h"

namespace tlc {

/// Names the first inconsistency, e.g. "artifact 'gemm': tensor 'A' axis 1 names dimension 7, but there are
/// 3".
Result<void> verify(const Artifact &artifact);

} // namespace tlc
