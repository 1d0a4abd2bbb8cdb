// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program in C11 with three archives of kernels, the last of nvcc's, on the emulator.
#include "first.h"
#include "second.h"
#include "third.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { m = 20, n = 130, rows = 16, columns = 24, depth = 512 };

static int failures = 0;

static void check(int holds, const char *what) {
  if (holds)
    return;
  printf("expected %s; the last errors are '%s' and '%s'\n", what, first_last_error(), second_last_error());
  ++failures;
}

static void fails(int status, int expected, const char *text) {
  check(status == expected, text);
  check(strcmp(first_last_error(), text) == 0, text);
}

static void testSoftcap(void) {
  static float x[m][n + 6], bias[n], y[m][n], narrow[m][n];
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      x[i][j] = (float)(i * 7 + j * 3 % 11) - 60;
  for (int j = 0; j < n; ++j)
    bias[j] = (float)(j % 5);
  first_softcap_arguments arguments = {
      .X = {&x[0][0], {m, n}, {n + 6, 1}}, .bias = {bias, {n}, {0}}, .Y = {&y[0][0], {m, n}, {0}}};
  check(first_softcap_emulate(&arguments) == first_OK, "softcap to run");
  first_narrow_arguments other = {
      .X = {&x[0][0], {m, n}, {n + 6, 1}}, .bias = {bias, {n}, {0}}, .Y = {&narrow[0][0], {m, n}, {0}}};
  check(first_narrow_emulate(&other) == first_OK, "softcap with other tiles to run");
  int wrong = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      const float expected = 30 * tanhf((x[i][j] + bias[j]) / 30);
      wrong += !(fabsf(y[i][j] - expected) < 0.02f) || y[i][j] != narrow[i][j];
    }
  check(wrong == 0, "softcap to be right");

  // Another launch of these shapes, elsewhere.
  memset(y, 0, sizeof(y));
  arguments.Y.data = &y[0][0];
  arguments.X.data = &x[1][0];
  arguments.X.shape[0] = arguments.Y.shape[0] = m - 1;
  check(first_softcap_emulate(&arguments) == first_OK && y[0][0] == narrow[1][0], "softcap to run again");

  fails(first_softcap_emulate(NULL), first_INVALID_ARGUMENT,
        "first_softcap: expected arguments, but got a null pointer");
  fails(first_softcap(NULL, NULL), first_INVALID_ARGUMENT,
        "first_softcap: expected arguments, but got a null pointer");
  arguments.Y.shape[0] = m;
  fails(first_softcap_emulate(&arguments), first_INVALID_ARGUMENT,
        "first_softcap: argument 'Y' axis 0: expected extent 19 because dimension 'm' is 19 in argument 'X' "
        "axis 0, but "
        "got 20");
  arguments.Y.shape[0] = m - 1;
  arguments.Y.data = NULL;
  fails(first_softcap_emulate(&arguments), first_INVALID_ARGUMENT,
        "first_softcap: argument 'Y': expected the address of 9880 bytes, but got null");
  arguments.Y.data = (float *)&x[1][0];
  fails(first_softcap_emulate(&arguments), first_INVALID_ARGUMENT,
        "first_softcap: argument 'Y': expected memory of its own because softcap writes it, but it overlaps "
        "argument 'X'");
  arguments.Y.data = &y[0][0];
  arguments.X.shape[0] = -1;
  fails(first_softcap_emulate(&arguments), first_INVALID_ARGUMENT,
        "first_softcap: argument 'X' axis 0: expected an extent from 0 to 2147483647, but got -1");
}

/// 16 bits of a float that is -1, 0 or 1.
static uint16_t half(int value) { return value == 0 ? 0 : value > 0 ? 0x3c00 : 0xbc00; }
static int numberAt(int i, int k) { return (i * 5 + k * 3) % 3 - 1; }

static void testGemm(void) {
  static uint16_t a[rows][depth], b[columns][depth];
  static float c[rows][columns];
  for (int k = 0; k < depth; ++k) {
    for (int i = 0; i < rows; ++i)
      a[i][k] = half(numberAt(i, k));
    for (int j = 0; j < columns; ++j)
      b[j][k] = half(numberAt(j + 1, k * k));
  }
  second_gemm_arguments arguments = {
      .A = {a, {rows, depth}, {0}}, .B = {b, {columns, depth}, {0}}, .C = {&c[0][0], {rows, columns}, {0}}};
  check(second_gemm_emulate(&arguments) == second_OK, "gemm to run");
  int wrong = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      int sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += numberAt(i, k) * numberAt(j + 1, k * k);
      wrong += c[i][j] != (float)sum;
    }
  check(wrong == 0, "gemm to be right");
}

/// A kernel of nvcc, in memory of the host.
static void testTranspose(void) {
  static float x[m][n + 6], y[n][m];
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n + 6; ++j)
      x[i][j] = (float)(1000 * i + j);
  third_transpose_arguments arguments = {.X = {&x[0][0], {m, n}, {n + 6, 1}}, .Y = {&y[0][0], {n, m}, {0}}};
  check(third_transpose_emulate(&arguments) == third_OK, "transpose to run");
  int wrong = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      wrong += y[j][i] != x[i][j];
  check(wrong == 0, "transpose to be right");
  const int64_t apart[] = {m + 4, 1};
  memcpy(arguments.Y.strides, apart, sizeof(apart));
  check(third_transpose_emulate(&arguments) == third_INVALID_ARGUMENT, "strides to be refused");
  check(strcmp(third_last_error(),
               "third_transpose: argument 'Y' axis 0: expected stride 20 because the kernel gets no "
               "strides, but got 24; copy the tensor to one without gaps") == 0,
        "the error of strides");
}

int main(void) {
  testSoftcap();
  testGemm();
  testTranspose();
  if (failures == 0)
    puts("ok");
  return failures != 0;
}
