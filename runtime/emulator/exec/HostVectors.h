// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hot loops compiled for more than one kind of host CPU.
#pragma once

namespace tlc::emulator {

/// Of functions that take part in such a loop: they are compiled with it.
#define TLC_WITH_CALLER __attribute__((always_inline)) inline

#if defined(__x86_64__) && defined(__GNUC__)
template <class F> __attribute__((target("avx2"), flatten)) void runOnWideVectors(const F &f) { f(); }
#endif

/// Calls f, in a form compiled for 256-bit vectors where the host has them. Both
/// forms round alike: neither has fused multiply-adds that the source does not ask for.
template <class F> void runVectorised(const F &f) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2"))
    return runOnWideVectors(f);
#endif
  f();
}

} // namespace tlc::emulator
