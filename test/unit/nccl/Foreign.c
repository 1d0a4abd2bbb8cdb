// SPDX-License-Identifier: Apache-2.0
/// \file
/// A library that is not NCCL.

int nothing(void) { return 0; }
