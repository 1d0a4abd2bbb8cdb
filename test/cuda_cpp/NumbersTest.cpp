// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic that CUDA C++ makes of several instructions, and narrow types.
#include "test/cuda_cpp/Run.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace tlc::test;

TEST_CASE("64-bit division and remainder", "[cuda-cpp]") {
  std::mt19937_64 random(Catch::rngSeed());
  std::vector<int64_t> a(256), b(256);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = int64_t(random() >> random() % 64);
    b[i] = int64_t(random() >> random() % 64 | 1) * (random() & 1 ? 1 : -1);
  }
  const auto out = run({.source = R"(
extern "C" __global__ void k(const long long *a, const long long *b, long long *out) {
  const int i = threadIdx.x;
  const unsigned long long x = a[i], y = b[i];
  out[6 * i] = a[i] / b[i];
  out[6 * i + 1] = a[i] % b[i];
  out[6 * i + 2] = x / y;
  out[6 * i + 3] = x % y;
  out[6 * i + 4] = __mul64hi(a[i], b[i]);
  out[6 * i + 5] = __umul64hi(x, y) + x / 1000003u + a[i] % 77;
})",
                        .threads = 256,
                        .arrays = {bytesOf(a), bytesOf(b), Bytes(256 * 48)}});
  const auto result = valuesOf<int64_t>(out[2]);
  for (size_t i = 0; i < a.size(); ++i) {
    INFO(a[i] << " and " << b[i]);
    const uint64_t x = uint64_t(a[i]), y = uint64_t(b[i]);
    CHECK(result[6 * i] == a[i] / b[i]);
    CHECK(result[6 * i + 1] == a[i] % b[i]);
    CHECK(uint64_t(result[6 * i + 2]) == x / y);
    CHECK(uint64_t(result[6 * i + 3]) == x % y);
    CHECK(result[6 * i + 4] == int64_t(__int128(a[i]) * b[i] >> 64));
    CHECK(uint64_t(result[6 * i + 5]) ==
          uint64_t((unsigned __int128)x * y >> 64) + x / 1000003u + uint64_t(a[i] % 77));
  }
}

TEST_CASE("double-precision functions", "[cuda-cpp]") {
  std::mt19937_64 random(Catch::rngSeed());
  std::uniform_real_distribution<double> values(0.01, 30);
  std::vector<double> x(256);
  for (double &value : x)
    value = values(random);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const double *x, double *out) {
  const int i = threadIdx.x;
  out[8 * i] = sqrt(x[i]);
  out[8 * i + 1] = exp(-x[i]);
  out[8 * i + 2] = log(x[i]);
  out[8 * i + 3] = sin(x[i]);
  out[8 * i + 4] = pow(x[i], 1.7);
  out[8 * i + 5] = 1.0 / x[i];
  out[8 * i + 6] = fma(x[i], x[i], -3.0) / 7.0;
  out[8 * i + 7] = tanh(x[i] - 15);
})",
                        .threads = 256,
                        .arrays = {bytesOf(x), Bytes(256 * 64)}});
  const auto result = valuesOf<double>(out[1]);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected[8] = {std::sqrt(x[i]),
                                std::exp(-x[i]),
                                std::log(x[i]),
                                std::sin(x[i]),
                                std::pow(x[i], 1.7),
                                1.0 / x[i],
                                std::fma(x[i], x[i], -3.0) / 7.0,
                                std::tanh(x[i] - 15)};
    for (int j = 0; j < 8; ++j) {
      INFO("function " << j << " of " << x[i]);
      CHECK(std::abs(result[8 * i + j] - expected[j]) <= 4 * 0x1p-53 * std::abs(expected[j]));
    }
  }
}

TEST_CASE("single-precision functions, exact and fast", "[cuda-cpp]") {
  std::mt19937 random(Catch::rngSeed());
  std::uniform_real_distribution<float> values(-9, 9);
  std::vector<float> x(256);
  for (float &value : x)
    value = values(random);
  // The fast ones are approximations of the device's own.
  const auto out = run({.source = R"(
extern "C" __global__ void k(const float *x, float *out) {
  const int i = threadIdx.x;
  out[6 * i] = expf(x[i]);
  out[6 * i + 1] = sinf(x[i] * 1000);
  out[6 * i + 2] = fabsf(x[i]) / 3.1f;
  out[6 * i + 3] = __expf(x[i]) / 8192;
  out[6 * i + 4] = rsqrtf(fabsf(x[i]) + 0.1f);
  out[6 * i + 5] = __fdividef(x[i], 7.7f) + __sinf(x[i] / 3);
})",
                        .threads = 256,
                        .arrays = {bytesOf(x), Bytes(256 * 24)}},
                       1e-3);
  const auto result = valuesOf<float>(out[1]);
  for (size_t i = 0; i < x.size(); ++i) {
    INFO("x is " << x[i]);
    const double v = x[i];
    CHECK(result[6 * i] == Approx(std::exp(v)).epsilon(3e-7));
    CHECK(result[6 * i + 1] == Approx(std::sin(double(x[i] * 1000))).margin(3e-7));
    CHECK(result[6 * i + 2] == std::abs(x[i]) / 3.1f);
    CHECK(result[6 * i + 3] == Approx(std::exp(v) / 8192).epsilon(1e-5));
    CHECK(result[6 * i + 4] == Approx(1 / std::sqrt(std::abs(v) + 0.1)).epsilon(1e-6));
    CHECK(result[6 * i + 5] == Approx(v / 7.7 + std::sin(v / 3)).margin(2e-6));
  }
}

TEST_CASE("half precision, bfloat16 and 8-bit floating point", "[cuda-cpp]") {
  std::mt19937 random(Catch::rngSeed());
  std::uniform_real_distribution<float> values(-20, 20);
  std::vector<float> x(256);
  for (float &value : x)
    value = values(random);
  const auto out = run({.headers = {"cuda_bf16.h", "cuda_fp16.h", "cuda_fp8.h"},
                        .source = R"(
extern "C" __global__ void k(const float *x, float *out) {
  const int i = threadIdx.x;
  const float other = x[(i + 1) % blockDim.x];
  const __half h = __float2half(x[i]), g = __float2half(other);
  const __nv_bfloat16 b = __float2bfloat16(x[i]), c = __float2bfloat16(other);
  out[8 * i] = __half2float(__hadd(h, g));
  out[8 * i + 1] = __half2float(__hfma(h, g, h));
  const __half2 pair = __hmul2(__halves2half2(h, g), __halves2half2(g, g));
  out[8 * i + 2] = __low2float(pair) + __high2float(__hmax2(pair, __halves2half2(h, h)));
  out[8 * i + 3] = __bfloat162float(__hmul(b, c));
  out[8 * i + 4] = __bfloat162float(__hfma(b, c, b));
  out[8 * i + 5] = float(__nv_fp8_e4m3(x[i]));
  out[8 * i + 6] = float(__nv_fp8_e5m2(other));
  out[8 * i + 7] = __hlt(h, g) + 2 * __hisnan(__hdiv(__float2half(0), __float2half(0))) + float(__half2int_rn(h)) * 4;
})",
                        .threads = 256,
                        .arrays = {bytesOf(x), Bytes(256 * 32)}});
  const auto toBf16 = [](double value) { // to nearest, ties to even
    const float single = float(value);   // exact: products of bf16 and their sums fit
    uint32_t bits = std::bit_cast<uint32_t>(single);
    bits += 0x7FFF + (bits >> 16 & 1);
    return std::bit_cast<float>(bits & 0xFFFF0000);
  };
  const auto toFloat8 = [](float value, int fractionBits, int leastExponent) {
    const int exponent = std::max(std::ilogb(value), leastExponent);
    const float step = std::ldexp(1.0f, exponent - fractionBits);
    return std::nearbyint(value / step) * step;
  };
  const auto result = valuesOf<float>(out[1]);
  for (size_t i = 0; i < x.size(); ++i) {
    const float other = x[(i + 1) % x.size()];
    const _Float16 h = _Float16(x[i]), g = _Float16(other);
    INFO(x[i] << " and " << other);
    CHECK(result[8 * i] == float(_Float16(h + g)));
    CHECK(result[8 * i + 1] == float(_Float16(double(h) * double(g) + double(h))));
    CHECK(result[8 * i + 2] == float(_Float16(h * g)) + std::max(float(_Float16(g * g)), float(h)));
    CHECK(result[8 * i + 3] == toBf16(double(toBf16(x[i])) * toBf16(other)));
    CHECK(result[8 * i + 4] == Approx(double(toBf16(x[i])) * toBf16(other) + toBf16(x[i])).epsilon(0x1p-8));
    CHECK(result[8 * i + 5] == toFloat8(x[i], 3, -6));
    CHECK(result[8 * i + 6] == toFloat8(other, 2, -14));
    CHECK(result[8 * i + 7] == float(h < g) + 2 + 4 * std::nearbyint(float(h)));
  }
}
