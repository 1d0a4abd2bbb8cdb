// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tile.begin_role`, `tile.end_role`.
#pragma once

#include "dialects/tile/Tile.h"

#define GET_OP_CLASSES
#include "dialects/tile/OpsRoleMarks.h.inc"
