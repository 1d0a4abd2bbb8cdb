// SPDX-License-Identifier: Apache-2.0
/// \file
/// A driver from before functions were looked up by version.

int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}
