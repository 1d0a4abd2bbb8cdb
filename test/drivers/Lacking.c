// SPDX-License-Identifier: Apache-2.0
/// \file
/// A driver that has none of the functions it is asked for.

int cuGetProcAddress_v2(const char *symbol, void **address, int version, unsigned long flags, void *status) {
  (void)symbol, (void)version, (void)flags, (void)status;
  *address = 0;
  return 500; // CUDA_ERROR_NOT_FOUND
}
