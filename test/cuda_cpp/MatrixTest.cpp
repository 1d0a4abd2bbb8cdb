// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrix instructions, asynchronous copies and clusters, as people write them.
#include "test/cuda_cpp/Run.h"

#include <bit>
#include <catch2/catch.hpp>
#include <random>

using namespace tlc::test;

namespace {

/// Small integers, in the upper halves of f32: exact in bf16, and all sums exact in f32.
std::vector<uint16_t> randomBf16(size_t count) {
  std::mt19937 random(Catch::rngSeed());
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values)
    value = uint16_t(std::bit_cast<uint32_t>(float(int(random() % 17) - 8)) >> 16);
  return values;
}
float valueOf(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// c = a b^T, a of m x k and b of n x k.
std::vector<float> product(const std::vector<uint16_t> &a, const std::vector<uint16_t> &b, int m, int n,
                           int k) {
  std::vector<float> c(size_t(m) * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        c[i * n + j] += valueOf(a[i * k + l]) * valueOf(b[j * k + l]);
  return c;
}

} // namespace

TEST_CASE("a product by ldmatrix, mma and a pipeline of cp.async", "[cuda-cpp]") {
  constexpr int m = 64, n = 64, k = 128;
  const auto a = randomBf16(m * k), b = randomBf16(n * k);
  const auto out = run({.headers = {"cuda_pipeline.h"},
                        .source = R"(
typedef unsigned short Element;
constexpr int M = 64, N = 64, K = 128, step = 32, stages = 3, row = step + 8;
__shared__ __align__(16) Element as[stages][M][row], bs[stages][N][row];
__device__ void load(const Element *a, const Element *b, int slice) {
  for (int i = threadIdx.x; i < M * step / 8; i += blockDim.x) {
    const int y = i / (step / 8), x = i % (step / 8) * 8;
    __pipeline_memcpy_async(&as[slice % stages][y][x], &a[y * K + slice * step + x], 16);
    __pipeline_memcpy_async(&bs[slice % stages][y][x], &b[y * K + slice * step + x], 16);
  }
}
__device__ unsigned address(const void *p) { return __cvta_generic_to_shared(p); }
extern "C" __global__ void k(const Element *a, const Element *b, float *c) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float d[N / 8][4] = {};
  for (int slice = 0; slice < stages - 1; ++slice) {
    load(a, b, slice);
    __pipeline_commit();
  }
  for (int slice = 0; slice < K / step; ++slice) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();
    if (slice + stages - 1 < K / step)
      load(a, b, slice + stages - 1);
    __pipeline_commit();
    for (int kk = 0; kk < step; kk += 16) {
      unsigned x[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(address(&as[slice % stages][warp * 16 + lane % 16][kk + lane / 16 * 8])));
      for (int j = 0; j < N / 8; ++j) {
        unsigned y[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1])
                     : "r"(address(&bs[slice % stages][j * 8 + lane % 8][kk + lane / 8 % 2 * 8])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                     "{%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
      }
    }
  }
  for (int j = 0; j < N / 8; ++j)
    for (int i = 0; i < 4; ++i)
      c[(warp * 16 + lane / 4 + i / 2 * 8) * N + j * 8 + lane % 4 * 2 + i % 2] = d[j][i];
})",
                        .arrays = {bytesOf(a), bytesOf(b), Bytes(m * n * 4)}});
  CHECK(valuesOf<float>(out[2]) == product(a, b, m, n, k));
}

TEST_CASE("products by the wmma interface", "[cuda-cpp]") {
  constexpr int m = 32, n = 32, k = 64;
  const auto a = randomBf16(m * k), b = randomBf16(n * k);
  const auto out = run({.headers = {"cuda_bf16.h", "mma.h"},
                        .source = R"(
using namespace nvcuda;
extern "C" __global__ void k(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, float *transposed) {
  const int y = threadIdx.x / 32 / 2 * 16, x = threadIdx.x / 32 % 2 * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int i = 0; i < 64; i += 16) {
    wmma::load_matrix_sync(fa, a + y * 64 + i, 64);
    wmma::load_matrix_sync(fb, b + x * 64 + i, 64);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + y * 32 + x, fc, 32, wmma::mem_row_major);
  for (int i = 0; i < fc.num_elements; ++i)
    fc.x[i] = 3 - fc.x[i]; // what element this is, nobody knows
  wmma::store_matrix_sync(transposed + x * 32 + y, fc, 32, wmma::mem_col_major);
})",
                        .arrays = {bytesOf(a), bytesOf(b), Bytes(m * n * 4), Bytes(m * n * 4)}});
  const auto expected = product(a, b, m, n, k);
  CHECK(valuesOf<float>(out[2]) == expected);
  const auto transposed = valuesOf<float>(out[3]);
  size_t wrong = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      wrong += transposed[j * m + i] != 3 - expected[i * n + j];
  CHECK(wrong == 0);
}

TEST_CASE("tiles by TMA, waited for with cuda::barrier's instructions", "[cuda-cpp]") {
  std::mt19937 random(Catch::rngSeed());
  constexpr int rows = 24, columns = 64;
  std::vector<float> in(rows * columns);
  for (float &value : in)
    value = float(random() % 1000);
  const auto out = run({.source = R"(
struct alignas(64) TensorMap { char bytes[128]; };
__device__ unsigned address(const void *p) { return __cvta_generic_to_shared(p); }
extern "C" __global__ void k(const float *in, float *out, const __grid_constant__ TensorMap map) {
  __shared__ alignas(1024) float tile[2][8][32];
  __shared__ alignas(8) unsigned long long full[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address(&full[i])));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("fence.proxy.async.shared::cta;");
  }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 6; ++i) { // three rows of tiles, two columns
    const int slot = i % 2;
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address(&full[slot])), "r"(1024));
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                   :: "r"(address(tile[slot])), "l"(&map), "r"(i % 2 * 32), "r"(i / 2 * 8), "r"(address(&full[slot])) : "memory");
    }
    asm volatile("{ .reg .pred done; Wait: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra Wait; }"
                 :: "r"(address(&full[slot])), "r"(i / 2 % 2) : "memory");
    // The tile is swizzled: 16-byte units of a row of 128 bytes are exchanged by the row.
    const int y = threadIdx.x / 32 + 4 * (i % 2), x = threadIdx.x % 32;
    for (int row = y % 4; row < 8; row += 4) {
      const float value = tile[slot][row][(x / 4 ^ row) * 4 + x % 4];
      out[(i / 2 * 8 + row) * 64 + i % 2 * 32 + x] = value + 1;
      sum += value;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // reads, before the slot is filled again
    __syncthreads();
  }
  out[24 * 64 + threadIdx.x] = sum;
})",
                        .arrays = {bytesOf(in), Bytes((rows * columns + 128) * 4)},
                        .boxes = {{.array = 0,
                                   .rows = rows,
                                   .columns = columns,
                                   .boxRows = 8,
                                   .boxColumns = 32,
                                   .swizzle = tlc::Swizzle::bytes128}}});
  const auto result = valuesOf<float>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < in.size(); ++i)
    wrong += result[i] != in[i] + 1;
  CHECK(wrong == 0);
}

TEST_CASE("blocks of a cluster use each other's shared memory", "[cuda-cpp]") {
  std::mt19937 random(Catch::rngSeed());
  std::vector<int32_t> in(4096);
  for (int32_t &value : in)
    value = int32_t(random() % 512);
  const auto out = run({.headers = {"cooperative_groups.h"},
                        .source = R"(
namespace cg = cooperative_groups;
// A histogram that no single block holds: 128 bins each.
extern "C" __global__ void __cluster_dims__(4, 1, 1) k(const int *in, int *bins, int *ranks, int n) {
  __shared__ int mine[128];
  cg::cluster_group cluster = cg::this_cluster();
  mine[threadIdx.x] = 0;
  cluster.sync();
  for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
    int *theirs = cluster.map_shared_rank(mine, in[i] / 128);
    atomicAdd(&theirs[in[i] % 128], 1);
  }
  cluster.sync();
  const int *next = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % 4);
  bins[blockIdx.x * 128 + threadIdx.x] = mine[threadIdx.x];
  ranks[blockIdx.x * 128 + threadIdx.x] = next[threadIdx.x] + cluster.block_rank() * 10000;
  cluster.sync();
})",
                        .blocks = 4,
                        .cluster = 4,
                        .arrays = {bytesOf(in), Bytes(2048), Bytes(2048)},
                        .integers = {4096}});
  std::vector<int32_t> bins(512), ranks(512);
  for (int32_t value : in)
    ++bins[value];
  for (int i = 0; i < 512; ++i)
    ranks[i] = bins[(i + 128) % 512] + i / 128 * 10000;
  CHECK(valuesOf<int32_t>(out[1]) == bins);
  CHECK(valuesOf<int32_t>(out[2]) == ranks);
}

TEST_CASE("barriers of the C++ library", "[cuda-cpp]") {
  const auto out = run({.headers = {"cuda/barrier"},
                        .source = R"(
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int tile[128];
  if (threadIdx.x == 0)
    init(&barrier, blockDim.x);
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    cuda::memcpy_async(&tile[threadIdx.x], &in[round * 128 + threadIdx.x], sizeof(int), barrier);
    barrier.arrive_and_wait();
    sum = sum * 3 + tile[(threadIdx.x + 17) % 128];
    barrier.arrive_and_wait();
  }
  out[threadIdx.x] = sum;
})",
                        .arrays = {[] {
                                     std::vector<int32_t> in(384);
                                     for (int32_t i = 0; i < 384; ++i)
                                       in[i] = i * i % 101;
                                     return bytesOf(in);
                                   }(),
                                   Bytes(512)}});
  const auto result = valuesOf<int32_t>(out[1]);
  for (int i = 0; i < 128; ++i) {
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
      const int at = round * 128 + (i + 17) % 128;
      sum = sum * 3 + at * at % 101;
    }
    CHECK(result[i] == sum);
  }
}
