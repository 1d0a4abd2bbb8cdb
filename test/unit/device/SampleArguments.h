// SPDX-License-Identifier: Apache-2.0
/// \file
/// Valid arguments for the sample artifact, in host memory.
#pragma once

#include "runtime/device/LaunchPlan.h"
#include "test/unit/artifact/SampleArtifact.h"

#include <bit>

namespace tlc::test {

inline const DeviceProperties &sampleDevice() {
  static const DeviceProperties device = {.name = "test", .target = "sm_90a", .multiprocessors = 4};
  return device;
}

/// Addresses that are aligned and distinct but belong to no memory: planning reads none.
inline void *address(uintptr_t value) { return reinterpret_cast<void *>(value); }

inline LaunchArguments sampleArguments(int64_t m = 200, int64_t n = 64, int64_t k = 128) {
  return {.tensors = {contiguousView(address(0x10000000), ElementType::bf16, {m, k}),
                      contiguousView(address(0x20000000), ElementType::bf16, {n, k}),
                      contiguousView(address(0x30000000), ElementType::f32, {m, n}),
                      contiguousView(address(0x40000000), ElementType::f32, {4, 16})},
          .scalars = {{.element = ElementType::f32, .bits = std::bit_cast<uint32_t>(2.5f)}}};
}

} // namespace tlc::test
