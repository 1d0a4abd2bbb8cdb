// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions that call themselves, functions that are chosen at run time, and printf.
#include "test/cuda_cpp/Run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <random>

using namespace tlc::test;

TEST_CASE("recursion, to another depth in each lane", "[cuda-cpp]") {
  std::mt19937 random(Catch::rngSeed());
  constexpr int count = 200;
  std::vector<int32_t> values(count);
  std::ranges::generate(values, [&] { return int32_t(random() % 100000); });
  // A quicksort of one thread, and two functions that call each other in all of them.
  const auto out = run({.source = R"(
__device__ __noinline__ void sort(int *values, int from, int to) {
  if (to - from < 2)
    return;
  const int pivot = values[from + (to - from) / 2];
  int low = from, high = to - 1;
  while (low <= high) {
    while (values[low] < pivot) ++low;
    while (values[high] > pivot) --high;
    if (low <= high) {
      const int other = values[low];
      values[low++] = values[high];
      values[high--] = other;
    }
  }
  sort(values, from, high + 1);
  sort(values, low, to);
}
__device__ int male(int n);
__device__ __noinline__ int female(int n) { return n == 0 ? 1 : n - male(female(n - 1)); }
__device__ __noinline__ int male(int n) { return n == 0 ? 0 : n - female(male(n - 1)); }
extern "C" __global__ void k(int *values, int *sequence, int n) {
  if (threadIdx.x == 37)
    sort(values, 0, n);
  sequence[threadIdx.x] = female(threadIdx.x % 16);
})",
                        .threads = 64,
                        .arrays = {bytesOf(values), Bytes(64 * 4)},
                        .integers = {count}});
  std::ranges::sort(values);
  CHECK(valuesOf<int32_t>(out[0]) == values);
  // Hofstadter's female sequence
  constexpr int female[] = {1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6, 7, 8, 8, 9, 9};
  const auto sequence = valuesOf<int32_t>(out[1]);
  for (int i = 0; i < 64; ++i) {
    INFO("thread " << i);
    CHECK(sequence[i] == female[i % 16]);
  }
}

TEST_CASE("function pointers and virtual functions", "[cuda-cpp]") {
  const auto out = run({.source = R"(
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int less(int x) { return x - 7; }
typedef int (*Function)(int);
__device__ Function table[3] = {twice, square, less};
__device__ __noinline__ int compose(Function outer, Function inner, int x) { return outer(inner(x)); }
struct Shape {
  int width, height;
  __device__ Shape(int width, int height) : width(width), height(height) {}
  __device__ virtual int size() const { return width * height; }
  __device__ virtual int sides() const = 0;
};
struct Rectangle : Shape {
  using Shape::Shape;
  __device__ int sides() const override { return 4; }
};
struct Triangle : Shape {
  using Shape::Shape;
  __device__ int size() const override { return Shape::size() / 2; }
  __device__ int sides() const override { return 3; }
};
extern "C" __global__ void k(int *out) {
  const int i = threadIdx.x;
  out[3 * i] = table[i % 3](i) + table[(i + 1) % 3](i);
  out[3 * i + 1] = compose(table[i / 3 % 3], table[i % 3], i);
  Rectangle rectangle(i, 3);
  Triangle triangle(i, 4);
  const Shape *chosen = i & 1 ? static_cast<const Shape *>(&rectangle) : &triangle;
  out[3 * i + 2] = 100 * chosen->size() + chosen->sides();
})",
                        .threads = 64,
                        .arrays = {Bytes(64 * 12)}});
  const auto result = valuesOf<int32_t>(out[0]);
  const auto call = [](int which, int x) { return which == 0 ? 2 * x : which == 1 ? x * x : x - 7; };
  for (int i = 0; i < 64; ++i) {
    INFO("thread " << i);
    CHECK(result[3 * i] == call(i % 3, i) + call((i + 1) % 3, i));
    CHECK(result[3 * i + 1] == call(i / 3 % 3, call(i % 3, i)));
    CHECK(result[3 * i + 2] == (i & 1 ? 100 * 3 * i + 4 : 100 * (4 * i / 2) + 3));
  }
}

TEST_CASE("printf, and what it returns", "[cuda-cpp]") {
  std::string printed;
  const auto out = run({.source = R"(
extern "C" __global__ void k(int *out) {
  const int i = threadIdx.x;
  out[i] = 0;
  if (i % 8 == 3)
    out[i] = printf("%3d %s %6.2f|%-5u|%llx %c%% %+.1e\n", i, i == 3 ? "three" : "more", 2.5 * i, 7u * i,
                    0x123456789abcull, 'a' + i, -0.25f);
  if (i == 0)
    printf("plain\n");
})",
                        .threads = 32,
                        .arrays = {Bytes(32 * 4)},
                        .printed = &printed});
  std::string expected;
  for (int i = 3; i < 32; i += 8)
    expected += fmt::format("{:3} {} {:6.2f}|{:<5}|123456789abc {}% -2.5e-01\n", i, i == 3 ? "three" : "more",
                            2.5 * i, 7 * i, char('a' + i));
  CHECK(printed == expected + "plain\n");
  const auto result = valuesOf<int32_t>(out[0]);
  for (int i = 0; i < 32; ++i)
    CHECK(result[i] == (i % 8 == 3 ? 7 : 0)); // its arguments, as a GPU counts them
}
