// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program that was written and compiled with version 7 of the C interface, by the header of that time. It
/// needs a driver, which may be the tests' own, that computes nothing.
#include "test/unit/libtlc/version7/tlc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "expected %s; the last error is '%s'\n", what, tlc_last_error());
  exit(1);
}

int main(void) {
  check(tlc_version() >= TLC_INTERFACE_VERSION && TLC_INTERFACE_VERSION == 7,
        "a library of version 7 or later");
  check(tlc_element_of_dlpack(2, 32) == TLC_F32, "f32");
  const char *names[] = {"rows", "columns", "dtype"}, *values[] = {"8", "64", "f32"};
  tlc_program *program = tlc_compile("softmax", names, values, 3, "sm_90a");
  check(program != NULL, "a program");
  const tlc_compile_options options = {sizeof(options), "sm_90a", 2.5};
  tlc_program *limited = tlc_compile_with("softmax", names, values, 3, &options);
  check(limited != NULL, "a program with options");

  float *memory = aligned_alloc(256, 2 * 8 * 64 * sizeof(float));
  check(memory != NULL, "memory");
  const int64_t shape[] = {8, 64}, strides[] = {64, 1};
  const tlc_tensor tensors[] = {{memory, TLC_F32, 2, shape, strides},
                                {memory + 8 * 64, TLC_F32, 2, shape, strides}};
  size_t bytes[4];
  check(tlc_workspace(program, tensors, 2, bytes, 4) == 0, "no workspaces");
  check(tlc_launch(program, tensors, 1, NULL, 0, NULL, 0, NULL) == TLC_INVALID_ARGUMENT,
        "an error of the arguments");
  check(strcmp(tlc_last_error(), "'softmax' expects 2 tensors (X, Y), but got 1") == 0, "its text");
  check(tlc_compile("softmaxx", names, values, 3, NULL) == NULL, "no program");
  check(strstr(tlc_last_error(), "'softmaxx'") != NULL, "the name of what does not exist");
  free(memory);
  tlc_release(limited);
  tlc_release(program);
  puts("ok");
  return 0;
}
