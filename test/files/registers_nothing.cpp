// SPDX-License-Identifier: Apache-2.0
/// \file
/// No kernel, or even no function that would register one.
#include <tlc/kernel.h>

#ifdef TLC_FUNCTION
void registerKernels(tlc::KernelFile &) {}
#endif
