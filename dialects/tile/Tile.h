// SPDX-License-Identifier: Apache-2.0
/// \file
/// All of the tile dialect.
#pragma once

#include "dialects/tile/TileAttrs.h"
#include "dialects/tile/TileDialect.h"
#include "dialects/tile/TileOps.h"
#include "dialects/tile/TileTypes.h"
