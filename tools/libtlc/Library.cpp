// SPDX-License-Identifier: Apache-2.0
/// \file
/// The C interface over the library of kernels and the CUDA device.
#include "tools/libtlc/tlc.h"

int tlc_version(void) { return TLC_INTERFACE_VERSION; }
