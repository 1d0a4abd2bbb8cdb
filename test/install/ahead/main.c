// [main]
#include "cap.h"

#include <stdio.h>

int main(void) {
  float x[2][3] = {{0, 3, -3}, {30, 300, -300}}, bias[3] = {0}, y[2][3];
  cap_softcap_arguments arguments = {
      .X = {&x[0][0], {2, 3}, {0}}, .bias = {bias, {3}, {0}}, .Y = {&y[0][0], {2, 3}, {0}}};
  if (cap_softcap_emulate(&arguments) != cap_OK) { // on a GPU: cap_softcap(&arguments, stream)
    fprintf(stderr, "%s\n", cap_last_error());
    return 1;
  }
  printf("%.2f %.2f %.2f\n", y[0][1], y[1][0], y[1][2]);
}
// [main]
