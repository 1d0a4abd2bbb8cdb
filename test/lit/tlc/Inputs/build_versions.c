/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a softmax of three libraries. */
#include "long_ago.h"
#include "now.h"
#include "then.h"

#include <stdio.h>

static float x[2][50], y[2][50];

static void printSums(int status) {
  double sums[2] = {0, 0};
  for (int i = 0; i < 100; ++i)
    sums[i / 50] += y[i / 50][i % 50];
  printf("%d %f %f\n", status, sums[0], sums[1]);
}

int main(void) {
  for (int i = 0; i < 100; ++i)
    x[i / 50][i % 50] = (float)(i % 7);
  const now_softmax_arguments now = {.X = {&x[0][0], {2, 50}, {0}}, .Y = {&y[0][0], {2, 50}, {0}}};
  const then_softmax_arguments then = {.X = {&x[0][0], {2, 50}, {0}}, .Y = {&y[0][0], {2, 50}, {0}}};
  const long_ago_softmax_arguments longAgo = {.X = {&x[0][0], {2, 50}, {0}}, .Y = {&y[0][0], {2, 50}, {0}}};
  printSums(now_softmax_emulate(&now));
  int status = then_softmax_emulate(&then);
  printf("%d %s\n", status, then_last_error());
  status = long_ago_softmax_emulate(&longAgo);
  printf("%d %s\n", status, long_ago_last_error());
  printSums(now_softmax_emulate(&now));
  return 0;
}
