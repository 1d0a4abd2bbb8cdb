// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a file exports that was compiled for another interface of tlc.
#include <cstdint>

extern "C" {
extern const uint32_t tlc_kernel_file[8];
[[gnu::visibility("default")]] const uint32_t tlc_kernel_file[8] = {999};
}
