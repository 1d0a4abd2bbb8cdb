// SPDX-License-Identifier: Apache-2.0
// The C interface, without the compiler as long as nothing needs that.
#include <cstdio>
#include <tlc/tlc.h>

int main() {
  std::printf("version %d, %d kernels\n", tlc_version(), tlc_kernel_count(nullptr));
  const char *names[] = {"columns"}, *values[] = {"64"};
  tlc_device *device = tlc_device_emulator(nullptr);
  tlc_compile_options options = {};
  options.size = sizeof(options);
  options.device = device;
  tlc_program *program = tlc_compile_with("softmax", names, values, 1, &options);
  std::printf("%s\n", program ? "compiled" : tlc_last_error());
  tlc_release(program);
  tlc_device_release(device);
  return program ? 0 : 1;
}
