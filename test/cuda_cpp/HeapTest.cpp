// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory that threads allocate.
#include "test/cuda_cpp/Run.h"

#include <catch2/catch.hpp>

using namespace tlc::test;

TEST_CASE("each thread allocates, fills and frees", "[cuda-cpp][heap]") {
  const auto out = run({.source = R"(
extern "C" __global__ void k(unsigned *out) {
  const int i = threadIdx.x, count = 1 + i * 7 % 50;
  unsigned *values = (unsigned *)malloc(count * sizeof(unsigned));
  unsigned char *bytes = (unsigned char *)malloc(i + 1);
  memset(bytes, i, i + 1);
  for (int j = 0; j < count; ++j)
    values[j] = i * j + 1;
  unsigned sum = 0;
  for (int j = 0; j < count; ++j)
    sum += values[j];
  unsigned *copy = (unsigned *)malloc(count * sizeof(unsigned));
  memcpy(copy, values, count * sizeof(unsigned));
  free(values);
  out[2 * i] = sum + copy[count - 1] + bytes[i];
  out[2 * i + 1] = values != copy && (size_t)copy % 16 == 0;
  free(copy);
  free(bytes);
  free(nullptr);
})",
                        .threads = 96,
                        .arrays = {Bytes(96 * 8)}});
  const auto result = valuesOf<uint32_t>(out[0]);
  for (uint32_t i = 0; i < 96; ++i) {
    const uint32_t count = 1 + i * 7 % 50;
    CHECK(result[2 * i] == i * (count * (count - 1) / 2) + count + i * (count - 1) + 1 + i);
    CHECK(result[2 * i + 1] == 1);
  }
}

TEST_CASE("lists that all threads build with new, and others delete", "[cuda-cpp][heap]") {
  const auto out = run({.source = R"(
struct Node {
  int value;
  Node *next;
  __device__ Node(int value) : value(value), next(nullptr) {}
};
extern "C" __global__ void k(int *out) {
  __shared__ Node *heads[8];
  if (threadIdx.x < 8)
    heads[threadIdx.x] = nullptr;
  __syncthreads();
  Node *node = new Node(threadIdx.x * threadIdx.x);
  Node *before = (Node *)atomicExch((unsigned long long *)&heads[threadIdx.x % 8], (unsigned long long)node);
  node->next = before;
  __syncthreads();
  if (threadIdx.x < 8) {
    int sum = 0, count = 0;
    for (Node *at = heads[7 - threadIdx.x]; at;) {
      sum += at->value;
      ++count;
      Node *next = at->next;
      delete at;
      at = next;
    }
    out[2 * threadIdx.x] = sum;
    out[2 * threadIdx.x + 1] = count;
  }
})",
                        .arrays = {Bytes(64)}});
  const auto result = valuesOf<int32_t>(out[0]);
  for (int list = 0; list < 8; ++list) {
    int sum = 0;
    for (int i = 7 - list; i < 128; i += 8)
      sum += i * i;
    CHECK(result[2 * list] == sum);
    CHECK(result[2 * list + 1] == 16);
  }
}

TEST_CASE("memory that one lane frees is another's next", "[cuda-cpp][heap]") {
  const auto out = run({.source = R"(
extern "C" __global__ void k(int *out) {
  int sum = 0;
  for (int round = 0; round < 6; ++round) {
    const int count = 4 + (threadIdx.x + round) % 5;
    int *values = (int *)malloc(count * sizeof(int));
    for (int j = 0; j < count; ++j)
      values[j] = j * (threadIdx.x + 1);
    for (int j = 0; j < count; ++j)
      sum += values[j];
    free(values);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
})",
                        .blocks = 2,
                        .threads = 64,
                        .arrays = {Bytes(512)}});
  const auto result = valuesOf<int32_t>(out[0]);
  for (int i = 0; i < 128; ++i) {
    int sum = 0;
    for (int round = 0; round < 6; ++round) {
      const int count = 4 + (i % 64 + round) % 5;
      sum += count * (count - 1) / 2 * (i % 64 + 1);
    }
    CHECK(result[i] == sum);
  }
}

TEST_CASE("objects of the heap with virtual functions and destructors", "[cuda-cpp][heap]") {
  const auto out = run({.source = R"(
struct Counter {
  int *gone;
  __device__ Counter(int *gone) : gone(gone) {}
  __device__ virtual ~Counter() { atomicAdd(gone, 1); }
  __device__ virtual int next(int x) { return x + 1; }
};
struct Doubler : Counter {
  int times;
  __device__ Doubler(int *gone, int times) : Counter(gone), times(times) {}
  __device__ ~Doubler() override { atomicAdd(gone, 100); }
  __device__ int next(int x) override {
    for (int i = 0; i < times; ++i)
      x *= 2;
    return x;
  }
};
extern "C" __global__ void k(int *out, int *gone) {
  const int i = threadIdx.x;
  Counter *chain[3];
  for (int j = 0; j < 3; ++j)
    chain[j] = (i >> j & 1) ? new Doubler(gone, j + 1) : new Counter(gone);
  int value = i;
  for (int j = 0; j < 3; ++j)
    value = chain[(j + i) % 3]->next(value);
  out[i] = value;
  for (int j = 0; j < 3; ++j)
    delete chain[j];
})",
                        .threads = 64,
                        .arrays = {Bytes(256), Bytes(4)}});
  const auto result = valuesOf<int32_t>(out[0]);
  int gone = 0;
  for (int i = 0; i < 64; ++i) {
    int value = i;
    for (int j = 0; j < 3; ++j) {
      const int which = (j + i) % 3;
      value = i >> which & 1 ? value << (which + 1) : value + 1;
      gone += i >> j & 1 ? 101 : 1;
    }
    CHECK(result[i] == value);
  }
  CHECK(valuesOf<int32_t>(out[1])[0] == gone);
}
