// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared memory and barriers of other blocks of the cluster.
#pragma once

#include "dialects/simt/Simt.h"

#define GET_OP_CLASSES
#include "dialects/simt/OpsCluster.h.inc"
