// SPDX-License-Identifier: Apache-2.0
/// \file
/// No C++.
#include <tlc/kernel.h>

void registerKernels(tlc::KernelFile &file) {
  file.kernel("one", "").siez("n", 1); // size
}
