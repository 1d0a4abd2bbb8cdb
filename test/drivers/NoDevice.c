// SPDX-License-Identifier: Apache-2.0
/// \file
/// A driver on a machine without a GPU: it has every function, and each fails.

static int fail(void) {
  return 100; // CUDA_ERROR_NO_DEVICE
}

int cuGetProcAddress_v2(const char *symbol, void **address, int version, unsigned long flags, void *status) {
  (void)symbol, (void)version, (void)flags, (void)status;
  *address = (void *)fail;
  return 0;
}
