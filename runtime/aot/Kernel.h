// SPDX-License-Identifier: Apache-2.0
/// \file
/// What objects of `tlc build` refer to. Each kernel of a header is a few instructions that pass its
/// `tlc_aot_kernel` on to one of these functions, after the arguments of its caller. An object of any later
/// version of this project keeps to it, or says another version.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// A kernel in writable memory of an object.
struct tlc_aot_kernel {
  uint64_t version; ///< `tlc::aot::kernelVersion`
  const char *function;
  const void *image; ///< runtime/aot/Image.h
  uint64_t image_bytes;
  void *state; ///< of the runtime; null until the first call
};

/// Statuses are `tlc::CallStatus`; `arguments` are as runtime/aot/Arguments.h says.
__attribute__((visibility("default"))) int tlc_aot_launch(const void *arguments, void *stream,
                                                          tlc_aot_kernel *kernel);
__attribute__((visibility("default"))) int tlc_aot_workspace(const void *arguments, size_t *bytes,
                                                             tlc_aot_kernel *kernel);
__attribute__((visibility("default"))) int tlc_aot_load(tlc_aot_kernel *kernel);
/// The same on an emulated device; only a program that calls it contains the emulator.
__attribute__((visibility("default"))) int tlc_aot_emulate(const void *arguments, tlc_aot_kernel *kernel);
__attribute__((visibility("default"))) int tlc_aot_synchronize(void *stream);
__attribute__((visibility("default"))) const char *tlc_aot_last_error(void);
}

namespace tlc::aot {

inline constexpr uint64_t kernelVersion = 1;

} // namespace tlc::aot
