// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies that run beside the threads, and clusters, by the C++ library.
#include "test/cuda_cpp/Run.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc::test;

TEST_CASE("a pipeline of the C++ library with three stages", "[cuda-cpp][asynchrony]") {
  const auto in = randomValues<int32_t>(128 * 7, -1000, 1000);
  const auto out = run({.headers = {"cooperative_groups.h", "cuda/pipeline"},
                        .source = R"(
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out, int batches) {
  __shared__ int memory[3][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  for (int made = 0, taken = 0; taken < batches; ++taken) {
    for (; made < batches && made < taken + 3; ++made) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, memory[made % 3], in + 128 * made, sizeof(int) * 128, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    out[128 * taken + threadIdx.x] = memory[taken % 3][127 - threadIdx.x] + taken;
    pipeline.consumer_release();
  }
})",
                        .arrays = {bytesOf(in), Bytes(in.size() * 4)},
                        .integers = {7}});
  std::vector<int32_t> expected(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    expected[i] = in[i / 128 * 128 + 127 - i % 128] + int32_t(i / 128);
  CHECK(valuesOf<int32_t>(out[1]) == expected);
}

TEST_CASE("warps that copy and warps that add, by a pipeline with roles", "[cuda-cpp][asynchrony]") {
  const auto in = randomValues<int32_t>(64 * 6, -1000, 1000);
  const auto out = run({.headers = {"cooperative_groups.h", "cuda/pipeline"},
                        .source = R"(
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out, int batches) {
  __shared__ int memory[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  const auto role = threadIdx.x < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipeline = cuda::make_pipeline(block, &state, role);
  if (role == cuda::pipeline_role::producer) {
    for (int i = 0; i < batches; ++i) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&memory[i % 2][threadIdx.x], &in[64 * i + threadIdx.x], sizeof(int), pipeline);
      pipeline.producer_commit();
    }
  } else {
    int sum = 0;
    for (int i = 0; i < batches; ++i) {
      pipeline.consumer_wait();
      sum = sum * 3 + memory[i % 2][127 - threadIdx.x];
      pipeline.consumer_release();
    }
    out[threadIdx.x - 64] = sum;
  }
})",
                        .arrays = {bytesOf(in), Bytes(256)},
                        .integers = {6}});
  std::vector<int32_t> expected(64);
  for (size_t i = 0; i < 64; ++i)
    for (size_t batch = 0; batch < 6; ++batch)
      expected[i] = expected[i] * 3 + in[64 * batch + 63 - i];
  CHECK(valuesOf<int32_t>(out[1]) == expected);
}

TEST_CASE("bulk copies both ways by cuda::ptx", "[cuda-cpp][asynchrony]") {
  const auto in = randomValues<int32_t>(1024, -1000, 1000);
  const auto out = run({.headers = {"cuda/barrier", "cuda/ptx"},
                        .source = R"(
namespace ptx = cuda::ptx;
extern "C" __global__ void k(const int *in, int *out, int *sums) {
  __shared__ alignas(128) int memory[512];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0)
    init(&barrier, blockDim.x);
  __syncthreads();
  for (int round = 0; round < 2; ++round) {
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
      ptx::fence_proxy_async(ptx::space_shared);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, memory, in + 512 * round, 2048,
                         cuda::device::barrier_native_handle(barrier));
      token = cuda::device::barrier_arrive_tx(barrier, 1, 2048);
    } else {
      token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    for (int i = threadIdx.x; i < 512; i += blockDim.x)
      memory[i] = memory[i] * 2 + round;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 512 * round, memory, 2048);
      ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, memory, 2048);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
  }
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
})",
                        .arrays = {bytesOf(in), Bytes(4096), Bytes(2048)}});
  std::vector<int32_t> expected(1024), sums(512);
  for (size_t i = 0; i < 1024; ++i) {
    expected[i] = in[i] * 2 + int32_t(i / 512);
    sums[i % 512] += expected[i];
  }
  CHECK(valuesOf<int32_t>(out[1]) == expected);
  CHECK(valuesOf<int32_t>(out[2]) == sums);
}

TEST_CASE("tiles by TMA out and in, by cuda::ptx", "[cuda-cpp][asynchrony]") {
  constexpr int rows = 32, columns = 48;
  std::vector<float> in(rows * columns);
  std::iota(in.begin(), in.end(), 1.0f);
  const auto out =
      run({.headers = {"cuda/barrier", "cuda/ptx"},
           .source = R"(
namespace ptx = cuda::ptx;
struct alignas(64) TensorMap { char bytes[128]; };
extern "C" __global__ void k(const float *, float *, const __grid_constant__ TensorMap from,
                             const __grid_constant__ TensorMap to) {
  __shared__ alignas(128) float tile[8][16];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  unsigned parity = 0;
  for (int at = blockIdx.x; at < 12; at += gridDim.x, parity ^= 1) {
    const int x = at % 3 * 16, y = at / 3 * 8;
    if (threadIdx.x == 0) {
      const int place[2] = {x, y};
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof(tile));
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &from, place, &full);
    }
    while (!ptx::mbarrier_try_wait_parity(&full, parity)) {
    }
    float &mine = tile[threadIdx.x / 16][threadIdx.x % 16];
    mine = -mine;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      const int place[2] = {32 - x, 24 - y};
      ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, place, tile);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
  }
  if (threadIdx.x == 0)
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
})",
           .blocks = 2,
           .arrays = {bytesOf(in), Bytes(in.size() * 4)},
           .boxes = {{.array = 0, .rows = rows, .columns = columns, .boxRows = 8, .boxColumns = 16},
                     {.array = 1, .rows = rows, .columns = columns, .boxRows = 8, .boxColumns = 16}}});
  const auto result = valuesOf<float>(out[1]);
  size_t wrong = 0;
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      wrong += result[y * columns + x] != -in[(24 - y / 8 * 8 + y % 8) * columns + 32 - x / 16 * 16 + x % 16];
  CHECK(wrong == 0);
}

TEST_CASE("a cluster adds round a ring of shared memories", "[cuda-cpp][asynchrony]") {
  const auto in = randomValues<int32_t>(256, -1000, 1000);
  const auto out = run({.headers = {"cooperative_groups.h"},
                        .source = R"(
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(4, 1, 1) k(const int *in, int *out) {
  __shared__ int values[2][64];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), count = cluster.num_blocks();
  int sum = values[0][threadIdx.x] = in[64 * rank + threadIdx.x];
  for (unsigned step = 1; step < count; ++step) {
    cluster.sync();
    int *next = cluster.map_shared_rank(values[step % 2], (rank + 1) % count);
    next[threadIdx.x] = values[(step - 1) % 2][threadIdx.x];
    cluster.sync();
    sum += values[step % 2][threadIdx.x] * (step + 1);
  }
  out[64 * rank + threadIdx.x] = sum;
})",
                        .blocks = 4,
                        .threads = 64,
                        .cluster = 4,
                        .arrays = {bytesOf(in), Bytes(1024)}});
  std::vector<int32_t> expected(256);
  for (int i = 0; i < 256; ++i)
    for (int step = 0; step < 4; ++step)
      expected[i] += in[(i / 64 + 4 - step) % 4 * 64 + i % 64] * (step + 1);
  CHECK(valuesOf<int32_t>(out[1]) == expected);
}

TEST_CASE("one block of a cluster waits for what the others send", "[cuda-cpp][asynchrony]") {
  const auto out = run({.headers = {"cooperative_groups.h", "cuda/ptx"},
                        .source = R"(
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int *out) {
  __shared__ alignas(16) int box[64];
  __shared__ unsigned long long full;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof(box));
  }
  cluster.sync();
  const unsigned peer = cluster.block_rank() ^ 1;
  ptx::st_async(cluster.map_shared_rank(box, peer) + threadIdx.x, (int)(threadIdx.x * 10 + peer),
                cluster.map_shared_rank(&full, peer));
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {
  }
  out[64 * blockIdx.x + threadIdx.x] = box[63 - threadIdx.x];
  cluster.sync();
})",
                        .blocks = 2,
                        .threads = 64,
                        .cluster = 2,
                        .arrays = {Bytes(512)}});
  const auto result = valuesOf<int32_t>(out[0]);
  for (int i = 0; i < 128; ++i)
    CHECK(result[i] == (63 - i % 64) * 10 + i / 64);
}

TEST_CASE("copies that fill with zeros", "[cuda-cpp][asynchrony]") {
  const auto in = randomValues<uint8_t>(128 * 16, 1, 255);
  const auto out = run({.headers = {"cuda_pipeline.h"},
                        .source = R"(
extern "C" __global__ void k(const unsigned char *in, unsigned char *out) {
  __shared__ alignas(16) unsigned char memory[128][32];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(memory[i], in + 16 * i, 16, i % 17);
  __pipeline_commit();
  __pipeline_memcpy_async(memory[i] + 16, in + 16 * i, 8, i % 9);
  __pipeline_memcpy_async(memory[i] + 24, in + 16 * i + 8, 4);
  __pipeline_memcpy_async(memory[i] + 28, in + 16 * i + 12, 4, i % 5);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  int sum = 0;
  for (int j = 0; j < 16; ++j)
    sum += memory[i][j];
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int j = 0; j < 32; ++j)
    out[33 * i + j] = memory[127 - i][j];
  out[33 * i + 32] = sum;
})",
                        .arrays = {bytesOf(in), Bytes(128 * 33)}});
  const auto result = valuesOf<uint8_t>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < 128; ++i) {
    const size_t other = 127 - i;
    int sum = 0;
    for (size_t j = 0; j < 16; ++j)
      sum += j < 16 - i % 17 ? in[16 * i + j] : 0;
    wrong += result[33 * i + 32] != uint8_t(sum);
    for (size_t j = 0; j < 32; ++j) {
      const bool copied = j < 16   ? j < 16 - other % 17
                          : j < 24 ? j - 16 < 8 - other % 9
                                   : j < 28 || j - 28 < 4 - other % 5;
      wrong += result[33 * i + j] != (copied ? in[16 * other + j % 16] : 0);
    }
  }
  CHECK(wrong == 0);
}
