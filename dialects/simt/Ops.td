// SPDX-License-Identifier: Apache-2.0
// All operations of the simt dialect, for the generated code and reference.
#ifndef TLC_DIALECTS_SIMT_OPS_TD
#define TLC_DIALECTS_SIMT_OPS_TD
include "dialects/simt/OpsAsync.td"
include "dialects/simt/OpsBytes.td"
include "dialects/simt/OpsControl.td"
include "dialects/simt/OpsMatrix.td"
include "dialects/simt/OpsMemory.td"
include "dialects/simt/OpsTensorMemory.td"
#endif
