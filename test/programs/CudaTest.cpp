// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions in CUDA C++ within programs: each element type, branches, tables, the epilogue of a product.
/// Without NVRTC they count as run.
#include "runtime/nvrtc/Nvrtc.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

bool haveNvrtc() {
  if (Nvrtc::open())
    return true;
  WARN("no NVRTC: functions in CUDA C++ are not tested");
  return false;
}

} // namespace

TEST_CASE("a function in CUDA C++ is applied to each element", "[cuda]") {
  if (!haveNvrtc())
    return;
  Artifact artifact = compiled(Program::trace("gelu", [](Scope &k) {
    CudaFunction gelu =
        k.cuda("gelu", "float gelu(float x) { return x < -4 ? 0 : 0.5f * x * (1 + erff(x * 0.70710678f)); }");
    Global X = k.input("X", f32, {37, 50}), Y = k.output("Y", f32, {37, 50});
    Fragment x = k.fragment(f32, {64, 64});
    copy(X.tile({0, 0}, {64, 64}), x);
    copy(gelu(x), Y.tile({0, 0}, {64, 64}));
  }));
  Memory x = Memory::filled(f32, {37, 50}, 0), y = Memory::filled(f32, {37, 50}, notANumber);
  for (size_t i = 0; i != x.values.size(); ++i)
    x.values[i] = float(i) / 150 - 6;
  run(artifact, {&x, &y});
  for (size_t i = 0; i != x.values.size(); ++i) {
    double v = x.values[i], expected = v < -4 ? 0 : 0.5 * v * (1 + std::erf(v * std::sqrt(0.5)));
    REQUIRE(std::abs(y.values[i] - expected) < 2e-6 * (1 + std::abs(v)));
  }
}

TEST_CASE("functions in CUDA C++ take and give other types", "[cuda]") {
  if (!haveNvrtc() || Nvrtc::open()->headers().empty())
    return;
  Artifact artifact = compiled(Program::trace("types", [](Scope &k) {
    // Two sources with equal names: each has its own helpers and tables.
    CudaFunction mix = k.cuda("mix", R"(
        constexpr int factor = 3;
        __constant__ float table[3] = {1, 10, 100};
        double mix(__half x, __nv_bfloat16 y, int i, long long j) {
          return double(float(x)) * factor + double(float(y)) + table[i % 3] + double(j);
        })",
                              {.result = f64});
    CudaFunction count = k.cuda("count", R"(
        constexpr int factor = 5;
        __constant__ int table[3] = {7, 8, 9};
        int count(int n) {
          int steps = 0;
          for (; n > 1; ++steps) { if (steps > 40) return -1; n = n % 2 ? factor * n + 1 : n / 2; }
          return steps + table[steps % 3];
        })");
    Global X = k.input("X", i32, {40}), Y = k.output("Y", f64, {40}), Z = k.output("Z", i32, {40});
    Fragment x = k.fragment(i32, {40});
    copy(X.tile({0}, {40}), x);
    copy(mix(x.to(f16), x.to(bf16), x, x.to(i64)), Y.tile({0}, {40}));
    copy(count(x), Z.tile({0}, {40}));
  }));
  Memory x = Memory::filled(i32, {40}, 0), y = Memory::filled(f64, {40}, notANumber),
         z = Memory::filled(i32, {40}, 0);
  for (size_t i = 0; i != 40; ++i)
    x.values[i] = double(i);
  run(artifact, {&x, &y, &z});
  for (int i = 0; i != 40; ++i) {
    constexpr double table[] = {1, 10, 100};
    CHECK(y.values[size_t(i)] == 3.0 * i + i + table[i % 3] + i);
    int n = i, steps = 0;
    for (; n > 1 && steps <= 40; ++steps)
      n = n % 2 ? 5 * n + 1 : n / 2;
    constexpr int more[] = {7, 8, 9};
    CHECK(z.values[size_t(i)] == (n > 1 ? -1 : steps + more[steps % 3]));
  }
}

TEST_CASE("numbers are repeated, and axes of extent 1", "[cuda]") {
  if (!haveNvrtc())
    return;
  Artifact artifact = compiled(Program::trace("repeated", [](Scope &k) {
    CudaFunction f = k.cuda("f", "float f(float a, float b, float c) { return a * b + c; }");
    Global X = k.input("X", f32, {16, 1}), W = k.input("W", f32, {1, 24}), Y = k.output("Y", f32, {16, 24});
    Fragment x = k.fragment(f32, {16, 1}), w = k.fragment(f32, {1, 24});
    copy(X.tile({0, 0}, {16, 1}), x);
    copy(W.tile({0, 0}, {1, 24}), w);
    copy(f(x, w, 0.25), Y.tile({0, 0}, {16, 24}));
  }));
  Memory x = Memory::filled(f32, {16, 1}, 0), w = Memory::filled(f32, {1, 24}, 0),
         y = Memory::filled(f32, {16, 24}, notANumber);
  for (size_t i = 0; i != 16; ++i)
    x.values[i] = double(i);
  for (size_t i = 0; i != 24; ++i)
    w.values[i] = double(i) - 5;
  run(artifact, {&x, &w, &y});
  for (size_t i = 0; i != 16; ++i)
    for (size_t j = 0; j != 24; ++j)
      CHECK(y.values[i * 24 + j] == double(i) * (double(j) - 5) + 0.25);
}

TEST_CASE("a function in CUDA C++ is a product's epilogue", "[cuda]") {
  if (!haveNvrtc())
    return;
  constexpr int64_t m = 128, n = 64, depth = 80;
  Artifact artifact = compiled(Program::trace("epilogue", [](Scope &k) {
    CudaFunction softplus =
        k.cuda("softplus", "float softplus(float x) { return x > 20 ? x : log1pf(expf(x)); }");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth}),
           C = k.output("C", f32, {m, n});
    Fragment acc = k.fragment(f32, {m, n});
    k.pipelined({0, ceilDiv(depth, 32), 1}, {.stages = 2}, [&](Index i) {
      Shared a = k.shared("a", bf16, {m, 32}), b = k.shared("b", bf16, {n, 32});
      copy(A.tile({0, i * 32}, {m, 32}), a);
      copy(B.tile({0, i * 32}, {n, 32}), b);
      gemm(a, b.t(), acc);
    });
    copy(softplus(acc), C.tile({0, 0}, {m, n}));
  }));
  for (const Variant &variant : artifact.variants)
    CHECK(variant.ptx.find("call") == std::string::npos);
  Memory a = Memory::filled(bf16, {m, depth}, 0), b = Memory::filled(bf16, {n, depth}, 0),
         c = Memory::filled(f32, {m, n}, notANumber);
  for (size_t i = 0; i != a.values.size(); ++i)
    a.values[i] = double(i % 7) / 4 - 0.75;
  for (size_t i = 0; i != b.values.size(); ++i)
    b.values[i] = double(i % 5) / 4 - 0.5;
  run(artifact, {&a, &b, &c});
  for (int64_t i = 0; i != m; ++i)
    for (int64_t j = 0; j != n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l != depth; ++l)
        sum += a.values[size_t(i * depth + l)] * b.values[size_t(j * depth + l)];
      REQUIRE(std::abs(c.values[size_t(i * n + j)] - std::log1p(std::exp(sum))) < 1e-5 * (1 + std::abs(sum)));
    }
}
