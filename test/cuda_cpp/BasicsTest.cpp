// SPDX-License-Identifier: Apache-2.0
/// \file
/// Threads, warps, blocks, memory spaces, calls and branches as CUDA C++ has them.
#include "test/cuda_cpp/Run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

using namespace tlc::test;

namespace {

std::vector<int32_t> randomIntegers(size_t count, int32_t least, int32_t most) {
  std::mt19937 random(Catch::rngSeed());
  std::uniform_int_distribution<int32_t> values(least, most);
  std::vector<int32_t> result(count);
  std::ranges::generate(result, [&] { return values(random); });
  return result;
}

std::vector<float> randomFloats(size_t count) {
  std::mt19937 random(Catch::rngSeed());
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> result(count);
  std::ranges::generate(result, [&] { return values(random); });
  return result;
}

} // namespace

TEST_CASE("a grid-stride loop adds vectors", "[cuda-cpp]") {
  const auto a = randomFloats(1000), b = randomFloats(1000);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const float *a, const float *b, float *c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = a[i] + b[i];
})",
                        .blocks = 3,
                        .arrays = {bytesOf(a), bytesOf(b), Bytes(4000)},
                        .integers = {999}});
  std::vector<float> expected(1000);
  std::ranges::transform(a, b, expected.begin(), std::plus<>());
  expected[999] = 0;
  CHECK(valuesOf<float>(out[2]) == expected);
}

TEST_CASE("a block reduces by shuffles and a grid by atomics", "[cuda-cpp]") {
  const auto values = randomIntegers(5000, -100000, 100000);
  const auto out = run({.source = R"(
__device__ int warpSum(int value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(~0u, value, offset);
  return value;
}
extern "C" __global__ void k(const int *in, int *sum, unsigned long long *squares, int n) {
  __shared__ int partial[32];
  int value = 0;
  unsigned long long square = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    value += in[i];
    square += (unsigned long long)((long long)in[i] * in[i]);
  }
  atomicAdd(squares, square);
  value = warpSum(value);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = warpSum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0);
    if (threadIdx.x == 0)
      atomicAdd(sum, value);
  }
})",
                        .blocks = 4,
                        .threads = 256,
                        .arrays = {bytesOf(values), Bytes(4), Bytes(8)},
                        .integers = {5000}});
  CHECK(valuesOf<int32_t>(out[1])[0] == std::accumulate(values.begin(), values.end(), 0));
  uint64_t squares = 0;
  for (int64_t value : values)
    squares += uint64_t(value * value);
  CHECK(valuesOf<uint64_t>(out[2])[0] == squares);
}

TEST_CASE("shared memory transposes tiles", "[cuda-cpp]") {
  const auto in = randomFloats(64 * 96);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const float *in, float *out, int rows, int columns) {
  __shared__ float tile[32][33];
  const int tileX = blockIdx.x % (columns / 32) * 32, tileY = blockIdx.x / (columns / 32) * 32;
  const int x = threadIdx.x % 32;
  for (int y = threadIdx.x / 32; y < 32; y += blockDim.x / 32)
    tile[y][x] = in[(tileY + y) * columns + tileX + x];
  __syncthreads();
  for (int y = threadIdx.x / 32; y < 32; y += blockDim.x / 32)
    out[(tileX + y) * rows + tileY + x] = tile[x][y];
})",
                        .blocks = 6,
                        .threads = 256,
                        .arrays = {bytesOf(in), Bytes(in.size() * 4)},
                        .integers = {64, 96}});
  const auto result = valuesOf<float>(out[1]);
  size_t wrong = 0;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 96; ++column)
      wrong += result[column * 64 + row] != in[row * 96 + column];
  CHECK(wrong == 0);
}

TEST_CASE("histograms by atomics in shared and global memory", "[cuda-cpp]") {
  const auto values = randomIntegers(4000, 0, 255);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const int *in, unsigned *bins, int *largest, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i]) {
      atomicAdd(&bins[i], local[i]);
      atomicMax(largest, i);
    }
})",
                        .blocks = 5,
                        .arrays = {bytesOf(values), Bytes(1024), Bytes(4)},
                        .integers = {4000}});
  std::vector<uint32_t> expected(256);
  for (int32_t value : values)
    ++expected[value];
  CHECK(valuesOf<uint32_t>(out[1]) == expected);
  CHECK(valuesOf<int32_t>(out[2])[0] == *std::ranges::max_element(values));
}

TEST_CASE("lanes match, vote and reduce", "[cuda-cpp]") {
  const auto values = randomIntegers(128, 0, 5);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const int *in, unsigned *out) {
  const int i = threadIdx.x, value = in[i];
  unsigned *mine = out + 6 * i;
  mine[0] = __match_any_sync(~0u, value);
  mine[1] = __ballot_sync(~0u, value & 1);
  mine[2] = __reduce_add_sync(~0u, (unsigned)value);
  const unsigned large = __ballot_sync(~0u, value > 2);
  mine[3] = value > 2 ? __reduce_max_sync(large, (unsigned)value) : 0;
  __syncwarp();
  mine[4] = __popc(mine[0]) + __ffs(value) + __clz(value) + __brev(value) % 7;
  mine[5] = __byte_perm(value * 0x01020408, mine[2] * 0x10305070, 0x5173);
})",
                        .arrays = {bytesOf(values), Bytes(128 * 24)}});
  const auto result = valuesOf<uint32_t>(out[1]);
  size_t wrong = 0;
  for (unsigned i = 0; i < 128; ++i) {
    uint32_t match = 0, odd = 0, sum = 0, largest = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const int32_t other = values[i / 32 * 32 + lane];
      match |= uint32_t(other == values[i]) << lane;
      odd |= uint32_t(other & 1) << lane;
      sum += uint32_t(other);
      largest = std::max(largest, uint32_t(other));
    }
    wrong += result[6 * i] != match || result[6 * i + 1] != odd || result[6 * i + 2] != sum ||
             result[6 * i + 3] != (values[i] > 2 ? largest : 0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("dynamic shared memory holds several arrays", "[cuda-cpp]") {
  const auto values = randomIntegers(256, -1000, 1000);
  const auto out = run({.source = R"(
extern __shared__ __align__(16) unsigned char memory[];
extern "C" __global__ void k(const int *in, int *out) {
  int *sorted = reinterpret_cast<int *>(memory);
  short *ranks = reinterpret_cast<short *>(memory + blockDim.x * sizeof(int));
  const int i = threadIdx.x;
  int rank = 0;
  for (int j = 0; j < blockDim.x; ++j)
    rank += in[j] < in[i] || (in[j] == in[i] && j < i);
  ranks[i] = short(rank);
  sorted[rank] = in[i];
  __syncthreads();
  out[i] = sorted[i] * 1000 + ranks[(i + 1) % blockDim.x] % 1000;
})",
                        .threads = 256,
                        .sharedBytes = 256 * 6,
                        .arrays = {bytesOf(values), Bytes(1024)}});
  auto sorted = values;
  std::ranges::sort(sorted);
  const auto result = valuesOf<int32_t>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const size_t next = (i + 1) % values.size();
    int rank = 0;
    for (size_t j = 0; j < values.size(); ++j)
      rank += values[j] < values[next] || (values[j] == values[next] && j < next);
    wrong += result[i] != sorted[i] * 1000 + rank % 1000;
  }
  CHECK(wrong == 0);
}

TEST_CASE("constants, local arrays and a switch", "[cuda-cpp]") {
  const auto values = randomIntegers(256, 0, 1 << 20);
  const auto out = run({.source = R"(
__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int calls = 40;
extern "C" __global__ void k(const int *in, int *out) {
  const int i = threadIdx.x;
  int value = in[i], digits[16], count = 0;
  for (; value; value /= 3)
    digits[count++] = value % 3;
  int sum = 0;
  for (int j = 0; j < count; ++j)
    sum += digits[digits[j] + j / 2] * primes[(j + in[i]) % 8];
  switch (in[i] % 12) {
  case 0: sum += primes[sum % 8]; break;
  case 1: sum *= 3; break;
  case 2: sum = -sum; break;
  case 3: sum ^= 0x55; // falls through
  case 4: sum += 1000; break;
  case 5: sum <<= 3; break;
  case 7: sum = __popc(sum); break;
  case 8: sum %= 10; break;
  case 9: sum += i; break;
  case 10: sum |= 0x100; break;
  default: sum = count; break;
  }
  out[i] = sum + calls;
})",
                        .threads = 256,
                        .arrays = {bytesOf(values), Bytes(1024)}});
  constexpr int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
  const auto result = valuesOf<int32_t>(out[1]);
  for (int i = 0; i < 256; ++i) {
    int digits[16] = {}, count = 0, sum = 0;
    for (int value = values[i]; value; value /= 3)
      digits[count++] = value % 3;
    for (int j = 0; j < count; ++j)
      sum += digits[digits[j] + j / 2] * primes[(j + values[i]) % 8];
    switch (values[i] % 12) {
    case 0:
      sum += primes[sum % 8];
      break;
    case 1:
      sum *= 3;
      break;
    case 2:
      sum = -sum;
      break;
    case 3:
      sum ^= 0x55;
      [[fallthrough]];
    case 4:
      sum += 1000;
      break;
    case 5:
      sum <<= 3;
      break;
    case 7:
      sum = __builtin_popcount(unsigned(sum));
      break;
    case 8:
      sum %= 10;
      break;
    case 9:
      sum += i;
      break;
    case 10:
      sum |= 0x100;
      break;
    default:
      sum = count;
      break;
    }
    INFO("thread " << i);
    CHECK(result[i] == sum + 40);
  }
}
