// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole algorithms as people write them: sorting, transforms, products, automata.
#include "test/cuda_cpp/Run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

using namespace tlc::test;

TEST_CASE("a bitonic sort in shared memory", "[cuda-cpp][algorithms]") {
  const auto in = randomValues<int32_t>(512, -100000, 100000);
  const auto out = run({.source = R"(
extern __shared__ int values[];
extern "C" __global__ void k(const int *in, int *out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    values[i] = in[i];
  for (int size = 2; size <= n; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
        const int low = 2 * i - (i & (stride - 1)), high = low + stride;
        const int a = values[low], b = values[high];
        if ((a > b) == ((low & size) == 0)) {
          values[low] = b;
          values[high] = a;
        }
      }
    }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = values[i];
})",
                        .sharedBytes = 2048,
                        .arrays = {bytesOf(in), Bytes(2048)},
                        .integers = {512}});
  auto expected = in;
  std::ranges::sort(expected);
  CHECK(valuesOf<int32_t>(out[1]) == expected);
}

TEST_CASE("a warp sorts and transposes in registers", "[cuda-cpp][algorithms]") {
  const auto in = randomValues<int32_t>(128 + 1024, -1000, 1000);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const int *in, int *sorted, int *transposed) {
  const int lane = threadIdx.x % 32;
  int value = in[threadIdx.x];
  for (int size = 2; size <= 32; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = __shfl_xor_sync(~0u, value, stride);
      const bool keepsSmall = ((lane & size) == 0) == ((lane & stride) == 0);
      value = keepsSmall ? min(value, other) : max(value, other);
    }
  sorted[threadIdx.x] = value;
  if (threadIdx.x >= 32)
    return;
  // 32 x 32 in registers, by halves.
  int row[32];
  for (int i = 0; i < 32; ++i)
    row[i] = in[128 + 32 * i + lane];
  for (int half = 16; half > 0; half /= 2)
    for (int i = 0; i < 32; ++i)
      if ((i & half) == 0) {
        const bool upper = lane & half;
        const int sent = upper ? row[i] : row[i + half];
        const int got = __shfl_xor_sync(~0u, sent, half);
        if (upper)
          row[i] = got;
        else
          row[i + half] = got;
      }
  for (int i = 0; i < 32; ++i)
    transposed[32 * i + lane] = row[i];
})",
                        .arrays = {bytesOf(in), Bytes(512), Bytes(4096)}});
  auto sorted = std::vector<int32_t>(in.begin(), in.begin() + 128);
  for (auto at = sorted.begin(); at != sorted.end(); at += 32)
    std::sort(at, at + 32);
  CHECK(valuesOf<int32_t>(out[1]) == sorted);
  const auto transposed = valuesOf<int32_t>(out[2]);
  size_t wrong = 0;
  for (size_t i = 0; i < 1024; ++i)
    wrong += transposed[i] != in[128 + i % 32 * 32 + i / 32];
  CHECK(wrong == 0);
}

TEST_CASE("a radix sort by ballots", "[cuda-cpp][algorithms]") {
  const auto in = randomValues<uint32_t>(256, 0, 4095);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ unsigned keys[2][256], zeros[8];
  const unsigned i = threadIdx.x, lane = i % 32, warp = i / 32;
  keys[0][i] = in[i];
  for (int bit = 0; bit < 12; ++bit) {
    __syncthreads();
    const unsigned key = keys[bit % 2][i], one = key >> bit & 1;
    const unsigned ballot = __ballot_sync(~0u, !one);
    if (lane == 0)
      zeros[warp] = __popc(ballot);
    __syncthreads();
    unsigned before = 0, all = 0;
    for (unsigned w = 0; w < 8; ++w) {
      before += w < warp ? zeros[w] : 0;
      all += zeros[w];
    }
    before += __popc(ballot & ((1u << lane) - 1));
    keys[(bit + 1) % 2][one ? all + i - before : before] = key;
  }
  __syncthreads();
  out[i] = keys[0][i];
})",
                        .threads = 256,
                        .arrays = {bytesOf(in), Bytes(1024)}});
  auto expected = in;
  std::ranges::sort(expected);
  CHECK(valuesOf<uint32_t>(out[1]) == expected);
}

TEST_CASE("a number-theoretic transform and back", "[cuda-cpp][algorithms]") {
  const auto in = randomValues<uint32_t>(256, 0, 7680);
  const auto out = run({.source = R"(
// Modulo 7681, of which 256 divides the order; 62 is a root of order 512's square.
constexpr unsigned prime = 7681;
__device__ unsigned power(unsigned base, unsigned exponent) {
  unsigned result = 1;
  for (; exponent; exponent /= 2, base = base * base % prime)
    if (exponent & 1)
      result = result * base % prime;
  return result;
}
__device__ void transform(unsigned *values, unsigned root) {
  const unsigned i = threadIdx.x;
  __syncthreads();
  const unsigned mine[2] = {values[__brev(i) >> 24], values[__brev(i + 128) >> 24]};
  __syncthreads();
  values[i] = mine[0];
  values[i + 128] = mine[1];
  for (unsigned half = 1; half < 256; half *= 2) {
    __syncthreads();
    const unsigned place = i % half, low = i / half * 2 * half + place;
    const unsigned factor = power(root, 128 / half * place);
    const unsigned a = values[low], b = values[low + half] * factor % prime;
    values[low] = (a + b) % prime;
    values[low + half] = (a + prime - b) % prime;
  }
  __syncthreads();
}
extern "C" __global__ void k(const unsigned *in, unsigned *spectrum, unsigned *back) {
  __shared__ unsigned values[256];
  const unsigned root = power(17, (prime - 1) / 256);
  for (int i = threadIdx.x; i < 256; i += 128)
    values[i] = in[i];
  transform(values, root);
  for (int i = threadIdx.x; i < 256; i += 128)
    spectrum[i] = values[i];
  transform(values, power(root, prime - 2));
  for (int i = threadIdx.x; i < 256; i += 128)
    back[i] = values[i] * power(256, prime - 2) % prime;
})",
                        .arrays = {bytesOf(in), Bytes(1024), Bytes(1024)}});
  CHECK(valuesOf<uint32_t>(out[2]) == in);
  uint64_t root = 1;
  for (unsigned i = 0; i < 7680 / 256; ++i)
    root = root * 17 % 7681;
  const auto spectrum = valuesOf<uint32_t>(out[1]);
  size_t wrong = 0;
  for (size_t f = 0; f < 256; ++f) {
    uint64_t step = 1, factor = 1, sum = 0;
    for (size_t i = 0; i < f; ++i)
      step = step * root % 7681;
    for (uint32_t value : in) {
      sum += factor * value;
      factor = factor * step % 7681;
    }
    wrong += spectrum[f] != sum % 7681;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a product by tiles in shared memory, with ragged edges", "[cuda-cpp][algorithms]") {
  constexpr int m = 45, n = 51, k = 70;
  const auto a = randomValues<int32_t>(m * k, -50, 50), b = randomValues<int32_t>(k * n, -50, 50, 2);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const int *a, const int *b, int *c, int m, int n, int k) {
  __shared__ int as[16][17], bs[16][17];
  const int columns = (n + 15) / 16, y = blockIdx.x / columns * 16 + threadIdx.x / 16,
            x = blockIdx.x % columns * 16 + threadIdx.x % 16, ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  int sum = 0;
  for (int i = 0; i < k; i += 16) {
    as[ty][tx] = y < m && i + tx < k ? a[y * k + i + tx] : 0;
    bs[ty][tx] = x < n && i + ty < k ? b[(i + ty) * n + x] : 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; ++j)
      sum += as[ty][j] * bs[j][tx];
    __syncthreads();
  }
  if (y < m && x < n)
    c[y * n + x] = sum;
})",
                        .blocks = 12,
                        .threads = 256,
                        .arrays = {bytesOf(a), bytesOf(b), Bytes(m * n * 4)},
                        .integers = {m, n, k}});
  std::vector<int32_t> c(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        c[i * n + j] += a[i * k + l] * b[l * n + j];
  CHECK(valuesOf<int32_t>(out[2]) == c);
}

TEST_CASE("a game of life with its edges joined", "[cuda-cpp][algorithms]") {
  constexpr int size = 32;
  const auto in = randomValues<uint8_t>(size * size, 0, 1);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const unsigned char *in, unsigned char *out, int generations) {
  __shared__ unsigned char cells[2][32][32];
  const int x = threadIdx.x % 32;
  for (int y = threadIdx.x / 32; y < 32; y += 8)
    cells[0][y][x] = in[32 * y + x];
  __syncthreads();
  for (int i = 0; i < generations; ++i) {
    for (int y = threadIdx.x / 32; y < 32; y += 8) {
      int count = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          count += (dx || dy) && cells[i % 2][(y + dy) & 31][(x + dx) & 31];
      cells[1 - i % 2][y][x] = count == 3 || (count == 2 && cells[i % 2][y][x]);
    }
    __syncthreads();
  }
  for (int y = threadIdx.x / 32; y < 32; y += 8)
    out[32 * y + x] = cells[generations % 2][y][x];
})",
                        .threads = 256,
                        .arrays = {bytesOf(in), Bytes(size * size)},
                        .integers = {5}});
  auto cells = in;
  for (int i = 0; i < 5; ++i) {
    const auto before = cells;
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) {
        int count = 0;
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            count += (dx || dy) && before[((y + dy) & 31) * size + ((x + dx) & 31)];
        cells[y * size + x] = count == 3 || (count == 2 && before[y * size + x]);
      }
  }
  CHECK(valuesOf<uint8_t>(out[1]) == cells);
}

TEST_CASE("shortest ways between all places", "[cuda-cpp][algorithms]") {
  constexpr int n = 24;
  auto in = randomValues<int32_t>(n * n, 1, 400);
  for (int i = 0; i < n * n; ++i)
    in[i] = i / n == i % n ? 0 : in[i] > 120 ? 1000000 : in[i];
  const auto out = run({.source = R"(
extern "C" __global__ void k(const int *in, int *out, int n) {
  extern __shared__ int ways[];
  for (int i = threadIdx.x; i < n * n; i += blockDim.x)
    ways[i] = in[i];
  for (int by = 0; by < n; ++by) {
    __syncthreads();
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
      const int from = i / n, to = i % n;
      if (from != by && to != by) // these do not change, and others read them
        ways[i] = min(ways[i], ways[from * n + by] + ways[by * n + to]);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n * n; i += blockDim.x)
    out[i] = ways[i];
})",
                        .sharedBytes = n * n * 4,
                        .arrays = {bytesOf(in), Bytes(n * n * 4)},
                        .integers = {n}});
  for (int by = 0; by < n; ++by)
    for (int i = 0; i < n * n; ++i)
      in[i] = std::min(in[i], in[i / n * n + by] + in[by * n + i % n]);
  CHECK(valuesOf<int32_t>(out[1]) == in);
}

TEST_CASE("an automaton with a switch reads numbers", "[cuda-cpp][algorithms]") {
  constexpr size_t length = 24, count = 64;
  constexpr std::string_view alphabet = "0123456789+-.eE ";
  std::vector<uint8_t> text(length * count);
  std::mt19937 random(3);
  for (uint8_t &c : text)
    c = uint8_t(alphabet[random() % alphabet.size()]);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const char *text, int *out, int length) {
  enum State { start, sign, digits, point, fraction, e, eSign, exponent };
  State state = start;
  int numbers = 0, errors = 0, sum = 0;
  for (int i = 0; i < length; ++i) {
    const char c = text[threadIdx.x * length + i];
    const bool isDigit = c >= '0' && c <= '9';
    switch (state) {
    case start:
      if (isDigit) state = digits, sum += c - '0';
      else if (c == '+' || c == '-') state = sign;
      else if (c == '.') state = point;
      else errors += c != ' ';
      continue;
    case sign:
      if (isDigit) { state = digits; sum += c - '0'; continue; }
      if (c == '.') { state = point; continue; }
      break;
    case digits:
      if (isDigit) { sum = sum * 3 + c; continue; }
      if (c == '.') { state = fraction; continue; }
      if (c == 'e' || c == 'E') { state = e; continue; }
      if (c == ' ') { state = start; ++numbers; continue; }
      break;
    case point:
      if (isDigit) { state = fraction; continue; }
      break;
    case fraction:
      if (isDigit) { ++sum; continue; }
      if (c == 'e' || c == 'E') { state = e; continue; }
      if (c == ' ') { state = start; ++numbers; continue; }
      break;
    case e:
      if (c == '+' || c == '-') { state = eSign; continue; }
      // falls through
    case eSign:
      if (isDigit) { state = exponent; continue; }
      break;
    case exponent:
      if (isDigit) continue;
      if (c == ' ') { state = start; numbers += 10; continue; }
      break;
    }
    ++errors;
    state = start;
  }
  out[2 * threadIdx.x] = numbers * 1000 + errors;
  out[2 * threadIdx.x + 1] = sum;
})",
                        .threads = count,
                        .arrays = {bytesOf(text), Bytes(count * 8)},
                        .integers = {length}});
  const auto result = valuesOf<int32_t>(out[1]);
  for (size_t thread = 0; thread < count; ++thread) {
    enum State { start, sign, digits, point, fraction, e, eSign, exponent } state = start;
    int numbers = 0, errors = 0;
    uint32_t sum = 0;
    for (size_t i = 0; i < length; ++i) {
      const char c = char(text[thread * length + i]);
      const bool isDigit = c >= '0' && c <= '9', isE = c == 'e' || c == 'E', isSign = c == '+' || c == '-';
      const bool isSpace = c == ' ', isPoint = c == '.';
      State next = start;
      bool fails = false;
      if (state == start) {
        next = isDigit ? digits : isSign ? sign : isPoint ? point : start;
        sum += isDigit ? uint32_t(c - '0') : 0;
        errors += next == start && !isSpace;
      } else if (state == sign) {
        next = isDigit ? digits : point;
        fails = !isDigit && !isPoint;
        sum += isDigit ? uint32_t(c - '0') : 0;
      } else if (state == digits) {
        next = isDigit ? digits : isPoint ? fraction : isE ? e : start;
        sum = isDigit ? sum * 3 + uint32_t(c) : sum;
        numbers += isSpace;
        fails = next == start && !isSpace;
      } else if (state == point) {
        next = fraction;
        fails = !isDigit;
      } else if (state == fraction) {
        next = isDigit ? fraction : isE ? e : start;
        sum += isDigit;
        numbers += isSpace;
        fails = next == start && !isSpace;
      } else if (state == e || state == eSign) {
        next = state == e && isSign ? eSign : exponent;
        fails = next == exponent && !isDigit;
      } else {
        next = isDigit ? exponent : start;
        numbers += isSpace ? 10 : 0;
        fails = !isDigit && !isSpace;
      }
      errors += fails;
      state = fails ? start : next;
    }
    INFO("thread " << thread);
    CHECK(result[2 * thread] == numbers * 1000 + errors);
    CHECK(uint32_t(result[2 * thread + 1]) == sum);
  }
}

TEST_CASE("checksums by tables in constant memory, and random numbers", "[cuda-cpp][algorithms]") {
  const auto text = randomValues<uint8_t>(64 * 33, 0, 255);
  const auto out = run({.source = R"(
__constant__ unsigned nibbles[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
__device__ uint4 philox(uint4 counter, uint2 key) {
  for (int i = 0; i < 10; ++i) {
    const unsigned high0 = __umulhi(0xD2511F53, counter.x), low0 = 0xD2511F53 * counter.x;
    const unsigned high1 = __umulhi(0xCD9E8D57, counter.z), low1 = 0xCD9E8D57 * counter.z;
    counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key.x += 0x9E3779B9;
    key.y += 0xBB67AE85;
  }
  return counter;
}
extern "C" __global__ void k(const unsigned char *text, unsigned *crc, uint4 *numbers) {
  unsigned value = ~0u;
  for (int i = 0; i < 33; ++i) {
    value ^= text[33 * threadIdx.x + i];
    value = value >> 4 ^ nibbles[value & 15];
    value = value >> 4 ^ nibbles[value & 15];
  }
  crc[threadIdx.x] = ~value;
  numbers[threadIdx.x] = philox(make_uint4(threadIdx.x, 0, 0, 0), make_uint2(0, 0));
})",
                        .threads = 64,
                        .arrays = {bytesOf(text), Bytes(256), Bytes(1024)}});
  const auto crc = valuesOf<uint32_t>(out[1]), numbers = valuesOf<uint32_t>(out[2]);
  for (size_t thread = 0; thread < 64; ++thread) {
    uint32_t value = ~0u;
    for (size_t i = 0; i < 33; ++i) {
      value ^= text[33 * thread + i];
      for (int bit = 0; bit < 8; ++bit)
        value = value >> 1 ^ (value & 1 ? 0xEDB88320 : 0);
    }
    CHECK(crc[thread] == ~value);
  }
  // Of the generator's own test vectors.
  CHECK(std::vector<uint32_t>(numbers.begin(), numbers.begin() + 4) ==
        std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
}

TEST_CASE("a set of Mandelbrot's, in fixed point", "[cuda-cpp][algorithms]") {
  const auto out = run({.source = R"(
extern "C" __global__ void k(int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const long long x0 = (long long)(i % 32) * 6000 - 130000, y0 = (long long)(i / 32) * 8000 - 64000;
  long long x = 0, y = 0;
  int steps = 0;
  while (steps < 60 && x * x + y * y < 4ll << 32) {
    const long long next = (x * x - y * y) / 65536 + x0;
    y = 2 * x * y / 65536 + y0;
    x = next;
    ++steps;
  }
  out[i] = steps;
})",
                        .blocks = 4,
                        .arrays = {Bytes(2048)}});
  const auto result = valuesOf<int32_t>(out[0]);
  size_t wrong = 0;
  for (int i = 0; i < 512; ++i) {
    const int64_t x0 = int64_t(i % 32) * 6000 - 130000, y0 = int64_t(i / 32) * 8000 - 64000;
    int64_t x = 0, y = 0;
    int steps = 0;
    for (; steps < 60 && x * x + y * y < int64_t(4) << 32; ++steps) {
      const int64_t next = (x * x - y * y) / 65536 + x0;
      y = 2 * x * y / 65536 + y0;
      x = next;
    }
    wrong += result[i] != steps;
  }
  CHECK(wrong == 0);
}
