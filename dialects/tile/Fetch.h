// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations that return the old value.
#pragma once

#include "dialects/tile/Tile.h"

#define GET_OP_CLASSES
#include "dialects/tile/OpsFetch.h.inc"
