// SPDX-License-Identifier: Apache-2.0
// All operations of the tile dialect, for the generated code and reference.
#ifndef TLC_DIALECTS_TILE_OPS_TD
#define TLC_DIALECTS_TILE_OPS_TD
include "dialects/tile/OpsChannel.td"
include "dialects/tile/OpsCompute.td"
include "dialects/tile/OpsControl.td"
include "dialects/tile/OpsMemory.td"
include "dialects/tile/OpsSync.td"
include "dialects/tile/OpsTensorMemory.td"
#endif
