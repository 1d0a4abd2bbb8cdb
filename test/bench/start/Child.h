// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the programs of start_bench have in common, in C: the problem, and what they tell.
#ifndef TLC_TEST_BENCH_START_CHILD_H
#define TLC_TEST_BENCH_START_CHILD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { start_rows = 8, start_columns = 64, start_element_bytes = 4 };
enum { start_tensor_bytes = start_rows * start_columns * start_element_bytes };

/// A launch for the driver alone, followed by its machine code in the file.
enum { start_most_pointers = 8, start_most_parameters = 32 };
struct start_plan {
  char entry[256];
  uint32_t grid[3], block[3], shared_bytes, pointers, pointer_offsets[start_most_pointers];
  uint32_t parameters, parameter_offsets[start_most_parameters];
  unsigned char values[1024]; ///< of parameters, with room for addresses of tensors
  uint64_t code_bytes;
};

/// What a program has done by then; it writes the time of each, in order.
enum start_phase { start_main, start_device, start_loaded, start_launched, start_phases };

static inline void start_tell(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

static inline void start_require(int holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "start_bench: %s\n", what);
  exit(1);
}

#endif // TLC_TEST_BENCH_START_CHILD_H
