// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program of the C interface: `start_interface gpu|emulator FOLDER` takes a program by name from the cache
/// in the folder, and launches it once.
#include "test/bench/start/Child.h"
#include "tools/libtlc/tlc.h"

#include <string.h>

static void require(int holds) { start_require(holds, tlc_last_error()); }

int main(int count, char **arguments) {
  start_tell();
  start_require(count == 3, "expected a device and a folder");
  tlc_device *device = strcmp(arguments[1], "gpu") == 0 ? tlc_device_gpu(0) : tlc_device_emulator(NULL);
  require(device != NULL);
  start_tell();

  tlc_cache_options cache = {.size = sizeof(cache), .folder = arguments[2], .use = TLC_CACHE_HITS_ONLY};
  require(tlc_set_cache(&cache) == TLC_OK);
  const char *names[] = {"rows", "columns", "dtype"}, *values[] = {"8", "64", "f32"};
  const tlc_compile_options options = {.size = sizeof(options), .device = device};
  tlc_program *program = tlc_compile_with("softmax", names, values, 3, &options);
  require(program != NULL);
  start_tell();

  int64_t shape[] = {start_rows, start_columns}, strides[] = {start_columns, 1};
  tlc_tensor tensors[] = {{NULL, TLC_F32, 2, shape, strides}, {NULL, TLC_F32, 2, shape, strides}};
  static const float zeros[start_rows * start_columns];
  for (int i = 0; i != 2; ++i) {
    require(tlc_device_allocate(device, start_tensor_bytes, &tensors[i].data) == TLC_OK);
    require(tlc_device_copy_in(device, tensors[i].data, zeros, start_tensor_bytes) == TLC_OK);
  }
  require(tlc_launch(program, tensors, 2, NULL, 0, NULL, 0, NULL) == TLC_OK);
  require(tlc_device_synchronize(device, NULL) == TLC_OK);
  start_tell();
  return 0;
}
