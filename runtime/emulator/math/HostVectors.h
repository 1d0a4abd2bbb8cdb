// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hot loops compiled for more than one kind of host CPU.
#pragma once

namespace tlc::emulator {

/// Of functions and lambdas that take part in such a loop: they are compiled with it.
#define TLC_WITH_CALLER TLC_LAMBDA_WITH_CALLER inline
#define TLC_LAMBDA_WITH_CALLER __attribute__((always_inline))

#if defined(__x86_64__)
enum class HostVectors : unsigned char { bits256, bits512 };
inline bool hostHas(HostVectors vectors) {
  return vectors == HostVectors::bits512 ? __builtin_cpu_supports("x86-64-v4")
                                         : __builtin_cpu_supports("avx2");
}

template <class F> __attribute__((target("avx2"), flatten)) void runOnWideVectors(const F &f) { f(); }
template <class F>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), flatten)) void runOnWidestVectors(const F &f) {
  f();
}
#endif

/// Calls f, in a form compiled for the widest vectors that the host has. All forms
/// round alike: none has fused multiply-adds that the source does not ask for.
template <class F> void runVectorised(const F &f) {
#if defined(__x86_64__)
  if (hostHas(HostVectors::bits512))
    return runOnWidestVectors(f);
  if (hostHas(HostVectors::bits256))
    return runOnWideVectors(f);
#endif
  f();
}

} // namespace tlc::emulator
