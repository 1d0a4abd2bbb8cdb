// SPDX-License-Identifier: Apache-2.0
/// \file
/// A kernel of a user's file, on an emulated GPU, in C: file.c <test/files/integers.cpp>. Prints what the
/// file has.
#include "tools/libtlc/tlc.h"

#include <stdio.h>
#include <stdlib.h>

enum { n = 100 };

static void check(int succeeded) {
  if (!succeeded) {
    printf("%s\n", tlc_last_error());
    exit(1);
  }
}

static void printKernels(const tlc_file *file) {
  for (int kernel = 0; kernel < tlc_kernel_count(file); ++kernel) {
    tlc_kernel_info info = {.size = sizeof(info)};
    check(tlc_kernel_of(file, kernel, &info) == TLC_OK);
    printf("%s: %s\n", info.name, info.summary);
    for (int i = 0; i < info.parameter_count; ++i) {
      tlc_parameter_info parameter = {.size = sizeof(parameter)};
      check(tlc_parameter_of(file, kernel, i, &parameter) == TLC_OK);
      printf("  %s: %s, else %s\n", parameter.name, parameter.allowed, parameter.fallback);
    }
  }
}

static void printArguments(const tlc_program *program) {
  for (int i = 0; i < tlc_argument_count(program); ++i) {
    tlc_argument_info argument = {.size = sizeof(argument)};
    check(tlc_argument_of(program, i, &argument) == TLC_OK);
    printf("%s: element %d, access %d", argument.name, argument.element, argument.access);
    for (int axis = 0; axis < argument.rank; ++axis) {
      tlc_extent_info extent = {.size = sizeof(extent)};
      check(tlc_extent_of(program, i, axis, &extent) == TLC_OK);
      printf(", %s from %lld", extent.dimension ? extent.dimension : "a constant", (long long)extent.least);
    }
    printf("\n");
  }
}

int main(int count, char **arguments) {
  check(count == 2);
  tlc_file *file = tlc_file_open(arguments[1], NULL);
  check(file != NULL);
  printKernels(file);
  tlc_device *device = tlc_device_emulator(NULL);
  check(device != NULL);
  const tlc_compile_options options = {.size = sizeof(options), .device = device, .file = file};
  tlc_program *below = tlc_compile_with("below", NULL, NULL, 0, &options);
  check(below != NULL);
  if (tlc_compile_with("belo", NULL, NULL, 0, &options) == NULL)
    printf("%s\n", tlc_last_error());
  tlc_file_release(file);
  printArguments(below);

  int32_t x[n], y[n] = {0};
  for (int i = 0; i < n; ++i)
    x[i] = i * i;
  void *inX, *inY;
  check(tlc_device_allocate(device, sizeof(x), &inX) == TLC_OK);
  check(tlc_device_allocate(device, sizeof(y), &inY) == TLC_OK);
  check(tlc_device_copy_in(device, inX, x, sizeof(x)) == TLC_OK);
  const int64_t shape[] = {n}, strides[] = {1};
  const tlc_tensor tensors[] = {{inX, TLC_I32, 1, shape, strides}, {inY, TLC_I32, 1, shape, strides}};
  check(tlc_launch(below, tensors, 2, NULL, 0, NULL, 0, NULL) == TLC_OK);
  check(tlc_device_copy_out(device, y, inY, sizeof(y)) == TLC_OK);
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += y[i] != i * i - 1;
  printf("%d elements are wrong\n", wrong);
  check(tlc_device_free(device, inX) == TLC_OK && tlc_device_free(device, inY) == TLC_OK);
  tlc_release(below);
  tlc_device_release(device);
  return wrong != 0;
}
