// SPDX-License-Identifier: Apache-2.0
/// \file
/// A product on an emulated GPU, in C. Exit status 0 if it is right.
// [product]
#include <stdio.h>
#include <stdlib.h>
#include <tools/libtlc/tlc.h> // <tlc.h> where it is installed

enum { m = 64, n = 48, k = 32 };

static void check(int succeeded) {
  if (!succeeded) {
    fprintf(stderr, "%s\n", tlc_last_error());
    exit(1);
  }
}

int main(void) {
  tlc_device *device = tlc_device_emulator(NULL); // tlc_device_gpu(0)
  check(device != NULL);
  const char *names[] = {"m", "n", "k", "dtype", "out"}, *values[] = {"64", "48", "32", "i8", "i32"};
  const tlc_compile_options options = {.size = sizeof(options), .device = device};
  tlc_program *gemm = tlc_compile_with("gemm", names, values, 5, &options);
  check(gemm != NULL);

  static int8_t a[m * k], b[n * k];
  static int32_t c[m * n];
  for (int i = 0; i < m * k; ++i)
    a[i] = (int8_t)(i % 7 - 3);
  for (int i = 0; i < n * k; ++i)
    b[i] = (int8_t)(i % 5 - 2);
  void *inA, *inB, *inC;
  check(tlc_device_allocate(device, sizeof(a), &inA) == TLC_OK);
  check(tlc_device_allocate(device, sizeof(b), &inB) == TLC_OK);
  check(tlc_device_allocate(device, sizeof(c), &inC) == TLC_OK);
  check(tlc_device_copy_in(device, inA, a, sizeof(a)) == TLC_OK);
  check(tlc_device_copy_in(device, inB, b, sizeof(b)) == TLC_OK);

  const int64_t shapeA[] = {m, k}, shapeB[] = {n, k}, shapeC[] = {m, n}, rowsOfK[] = {k, 1},
                rowsOfN[] = {n, 1};
  const tlc_tensor tensors[] = {{inA, TLC_I8, 2, shapeA, rowsOfK},
                                {inB, TLC_I8, 2, shapeB, rowsOfK},
                                {inC, TLC_I32, 2, shapeC, rowsOfN}};
  check(tlc_launch(gemm, tensors, 3, NULL, 0, NULL, 0, NULL) == TLC_OK);
  check(tlc_device_synchronize(device, NULL) == TLC_OK);
  check(tlc_device_copy_out(device, c, inC, sizeof(c)) == TLC_OK);
  // [product]
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      int32_t sum = 0;
      for (int i = 0; i < k; ++i)
        sum += a[row * k + i] * b[column * k + i];
      if (c[row * n + column] != sum) {
        fprintf(stderr, "C[%d, %d]: expected %d, but got %d\n", row, column, sum, c[row * n + column]);
        return 1;
      }
    }
  check(tlc_device_free(device, inA) == TLC_OK);
  check(tlc_device_free(device, inB) == TLC_OK);
  check(tlc_device_free(device, inC) == TLC_OK);
  tlc_release(gemm);
  tlc_device_release(device);
  return 0;
}
