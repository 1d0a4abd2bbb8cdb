// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations of every width, by built-in functions and the C++ library.
#include "test/cuda_cpp/Run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc::test;

TEST_CASE("atomics of 32 and 64 bits on words that all threads share", "[cuda-cpp][atomics]") {
  const auto in = randomValues<int32_t>(256, -100000, 100000);
  const auto out =
      run({.source = R"(
extern "C" __global__ void k(const int *in, int *out, unsigned long long *wide) {
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(out, value);
  atomicSub(out + 1, value);
  atomicMin(out + 2, value);
  atomicMax(out + 3, value);
  atomicAnd(out + 4, value);
  atomicOr(out + 5, value);
  atomicXor(out + 6, value);
  atomicInc((unsigned *)out + 7, 99);
  atomicDec((unsigned *)out + 8, 99);
  atomicAdd_block(out + 9 + 2 * blockIdx.x, 1);
  atomicMin((unsigned *)out + 10, (unsigned)value);
  atomicAdd(wide, (unsigned long long)value * value);
  atomicMax((long long *)wide + 1, (long long)value * 1000000);
  atomicMin(wide + 2, (unsigned long long)(long long)value);
  atomicXor(wide + 3, (unsigned long long)value << 20);
  atomicAnd(wide + 4, ~(1ull << (value & 63)));
})",
           .blocks = 2,
           .arrays = {bytesOf(in), bytesOf(std::vector<int32_t>{0, 0, 0, 0, -1, 0, 0, 0, 0, 0, -1, 0}),
                      bytesOf(std::vector<uint64_t>{0, 0, UINT64_MAX, 0, UINT64_MAX})}});
  std::vector<int32_t> expected{0, 0, 0, 0, -1, 0, 0, 0, 0, 128, -1, 128};
  std::vector<uint64_t> wide{0, 0, UINT64_MAX, 0, UINT64_MAX};
  uint32_t up = 0, down = 0;
  for (int32_t value : in) {
    expected[0] += value;
    expected[1] -= value;
    expected[2] = std::min(expected[2], value);
    expected[3] = std::max(expected[3], value);
    expected[4] &= value;
    expected[5] |= value;
    expected[6] ^= value;
    up = up >= 99 ? 0 : up + 1;
    down = down == 0 || down > 99 ? 99 : down - 1;
    expected[10] = int32_t(std::min(uint32_t(expected[10]), uint32_t(value)));
    wide[0] += uint64_t(int64_t(value) * value);
    wide[1] = uint64_t(std::max(int64_t(wide[1]), int64_t(value) * 1000000));
    wide[2] = std::min(wide[2], uint64_t(int64_t(value)));
    wide[3] ^= uint64_t(int64_t(value)) << 20;
    wide[4] &= ~(uint64_t(1) << (value & 63));
  }
  expected[7] = int32_t(up);
  expected[8] = int32_t(down);
  CHECK(valuesOf<int32_t>(out[1]) == expected);
  CHECK(valuesOf<uint64_t>(out[2]) == wide);
}

TEST_CASE("atomics on floating-point numbers of every width", "[cuda-cpp][atomics]") {
  const auto out = run({.headers = {"cuda_bf16.h", "cuda_fp16.h"},
                        .source = R"(
extern "C" __global__ void k(float *out) {
  __shared__ float single;
  __shared__ double twice;
  __shared__ __half half;
  __shared__ __half2 pair;
  __shared__ __nv_bfloat16 brain;
  __shared__ float4 four;
  const int i = threadIdx.x;
  if (i == 0) {
    single = 0;
    twice = 0;
    half = __float2half(0);
    pair = __float2half2_rn(0);
    brain = __float2bfloat16(0);
  }
  __syncthreads();
  // Sums that are exact in any order.
  atomicAdd(&single, i * 0.25f);
  atomicAdd(&twice, i * 0.125);
  atomicAdd(&half, __float2half(i % 8));
  atomicAdd(&pair, __floats2half2_rn(1, i % 2));
  atomicAdd(&brain, __float2bfloat16(i % 3 == 0));
  atomicAdd((float4 *)(out + 8), make_float4(1, i, 2, -i));
  atomicExch(out + 12 + i % 2, 3.5f);
  __syncthreads();
  if (i == 0) {
    out[0] = single;
    out[1] = twice;
    out[2] = __half2float(half);
    out[3] = __low2float(pair);
    out[4] = __high2float(pair);
    out[5] = __bfloat162float(brain);
  }
})",
                        .arrays = {Bytes(64)}});
  CHECK(valuesOf<float>(out[0]) ==
        std::vector<float>{2032, 1016, 448, 128, 64, 43, 0, 0, 128, 8128, 256, -8128, 3.5, 3.5, 0, 0});
}

TEST_CASE("compare and swap of 16, 32, 64 and 128 bits", "[cuda-cpp][atomics]") {
  const auto out = run({.source = R"(
struct alignas(16) Wide { unsigned long long low, high; };
extern "C" __global__ void k(unsigned short *narrow, unsigned *word, unsigned long long *wide, Wide *pair) {
  unsigned short seen16, old16 = atomicCAS(narrow, (unsigned short)0, (unsigned short)0);
  do {
    seen16 = old16;
    old16 = atomicCAS(narrow, seen16, (unsigned short)(seen16 + threadIdx.x));
  } while (old16 != seen16);
  unsigned seen32, old32 = atomicCAS(word, 0u, 0u);
  do {
    seen32 = old32;
    old32 = atomicCAS(word, seen32, max(seen32, threadIdx.x * 77 % 101));
  } while (old32 != seen32);
  unsigned long long seen64, old64 = atomicCAS(wide, 0ull, 0ull);
  do {
    seen64 = old64;
    old64 = atomicCAS(wide, seen64, seen64 + (1ull << 40) + 1);
  } while (old64 != seen64);
  Wide seen, old = {0, 0}, next;
  old = atomicCAS(pair, old, old);
  do {
    seen = old;
    next = {seen.low + 1, seen.high + threadIdx.x};
    old = atomicCAS(pair, seen, next);
  } while (old.low != seen.low || old.high != seen.high);
})",
                        .threads = 64,
                        .arrays = {Bytes(8), Bytes(4), Bytes(8), Bytes(16)}});
  CHECK(valuesOf<uint16_t>(out[0])[0] == 2016);
  uint32_t largest = 0;
  for (uint32_t i = 0; i < 64; ++i)
    largest = std::max(largest, i * 77 % 101);
  CHECK(valuesOf<uint32_t>(out[1])[0] == largest);
  CHECK(valuesOf<uint64_t>(out[2])[0] == (uint64_t(64) << 40) + 64);
  CHECK(valuesOf<uint64_t>(out[3]) == std::vector<uint64_t>{64, 2016});
}

TEST_CASE("references of the C++ library to bytes and up", "[cuda-cpp][atomics]") {
  const auto out = run({.headers = {"cuda/atomic"},
                        .source = R"(
extern "C" __global__ void k(unsigned char *bytes, unsigned short *shorts, int *words, unsigned long long *wide) {
  const unsigned i = threadIdx.x;
  cuda::atomic_ref<unsigned char, cuda::thread_scope_block>(bytes[i % 4]).fetch_add(i, cuda::memory_order_relaxed);
  cuda::atomic_ref<unsigned short, cuda::thread_scope_device>(shorts[i % 2]).fetch_xor(i * 257);
  cuda::atomic_ref<int, cuda::thread_scope_device> word(words[0]);
  word.fetch_max((int)(i * 37 % 64), cuda::memory_order_acq_rel);
  cuda::atomic_ref<int, cuda::thread_scope_system>(words[1]).fetch_sub(2);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> sum(wide[0]);
  unsigned long long seen = sum.load();
  while (!sum.compare_exchange_weak(seen, seen * 3 + 1, cuda::memory_order_seq_cst)) {
  }
})",
                        .threads = 64,
                        .arrays = {Bytes(4), Bytes(4), Bytes(8), Bytes(8)}});
  std::vector<uint8_t> bytes(4);
  std::vector<uint16_t> shorts(2);
  uint64_t sum = 0;
  for (unsigned i = 0; i < 64; ++i) {
    bytes[i % 4] = uint8_t(bytes[i % 4] + i);
    shorts[i % 2] = uint16_t(shorts[i % 2] ^ i * 257);
    sum = sum * 3 + 1;
  }
  CHECK(valuesOf<uint8_t>(out[0]) == bytes);
  CHECK(valuesOf<uint16_t>(out[1]) == shorts);
  CHECK(valuesOf<int32_t>(out[2]) == std::vector<int32_t>{63, -128});
  CHECK(valuesOf<uint64_t>(out[3])[0] == sum);
}
