// SPDX-License-Identifier: Apache-2.0
/// \file
/// CUB's primitives of blocks and warps, where the toolkit has them.
#include "test/cuda_cpp/Run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc::test;

namespace {

std::vector<int32_t> sample(size_t count) { return randomValues<int32_t>(count, -1000, 1000); }

} // namespace

TEST_CASE("CUB reduces and scans a block, three ways", "[cuda-cpp][cub]") {
  const auto in = sample(512);
  const auto out = run({.headers = {"cub/block/block_reduce.cuh", "cub/block/block_scan.cuh"},
                        .source = R"(
template <cub::BlockReduceAlgorithm reduceBy, cub::BlockScanAlgorithm scanBy>
__device__ void both(const int *in, int *out) {
  using Reduce = cub::BlockReduce<int, 128, reduceBy>;
  using Scan = cub::BlockScan<int, 128, scanBy>;
  __shared__ typename Reduce::TempStorage reduceStorage;
  __shared__ typename Scan::TempStorage scanStorage;
  int items[4], total;
  for (int i = 0; i < 4; ++i)
    items[i] = in[4 * threadIdx.x + i];
  const int sum = Reduce(reduceStorage).Sum(items);
  Scan(scanStorage).ExclusiveSum(items, items, total);
  for (int i = 0; i < 4; ++i)
    out[4 * threadIdx.x + i] = items[i];
  if (threadIdx.x == 0)
    out[512] = sum + 3 * total;
}
extern "C" __global__ void k(const int *in, int *out) {
  both<cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::BLOCK_SCAN_WARP_SCANS>(in, out);
  both<cub::BLOCK_REDUCE_RAKING, cub::BLOCK_SCAN_RAKING>(in, out + 513);
  both<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, cub::BLOCK_SCAN_RAKING_MEMOIZE>(in, out + 1026);
})",
                        .arrays = {bytesOf(in), Bytes(513 * 12)}});
  std::vector<int32_t> expected(513);
  std::exclusive_scan(in.begin(), in.end(), expected.begin(), 0);
  expected[512] = 4 * std::accumulate(in.begin(), in.end(), 0);
  const auto result = valuesOf<int32_t>(out[1]);
  for (size_t way = 0; way < 3; ++way)
    CHECK(std::equal(expected.begin(), expected.end(), result.begin() + ptrdiff_t(513 * way)));
}

TEST_CASE("CUB sorts a block by digits, keys with values and downwards", "[.long]") {
  const auto in = sample(512);
  const auto out = run({.headers = {"cub/block/block_radix_sort.cuh"},
                        .source = R"(
extern "C" __global__ void k(const int *in, int *keys, int *places, int *down) {
  using Sort = cub::BlockRadixSort<int, 128, 4, int>;
  using Down = cub::BlockRadixSort<int, 128, 4>;
  __shared__ union { Sort::TempStorage sort; Down::TempStorage down; } storage;
  int mine[4], places4[4], other[4];
  for (int i = 0; i < 4; ++i) {
    other[i] = mine[i] = in[4 * threadIdx.x + i];
    places4[i] = 4 * threadIdx.x + i;
  }
  Sort(storage.sort).Sort(mine, places4);
  __syncthreads();
  Down(storage.down).SortDescendingBlockedToStriped(other);
  for (int i = 0; i < 4; ++i) {
    keys[4 * threadIdx.x + i] = mine[i];
    places[4 * threadIdx.x + i] = places4[i];
    down[128 * i + threadIdx.x] = other[i];
  }
})",
                        .arrays = {bytesOf(in), Bytes(2048), Bytes(2048), Bytes(2048)}});
  std::vector<int32_t> places(512);
  std::iota(places.begin(), places.end(), 0);
  std::ranges::sort(places, {}, [&](int32_t place) { return std::pair(in[place], place); });
  auto keys = in;
  std::ranges::sort(keys);
  CHECK(valuesOf<int32_t>(out[1]) == keys);
  CHECK(valuesOf<int32_t>(out[2]) == places);
  std::ranges::reverse(keys);
  CHECK(valuesOf<int32_t>(out[3]) == keys);
}

TEST_CASE("CUB sorts blocks and warps by merging", "[.long]") {
  const auto in = sample(256);
  const auto out = run({.headers = {"cub/block/block_merge_sort.cuh", "cub/warp/warp_merge_sort.cuh"},
                        .source = R"(
struct Less { __device__ bool operator()(int a, int b) const { return a < b; } };
extern "C" __global__ void k(const int *in, int *block, int *warps) {
  using Block = cub::BlockMergeSort<int, 64, 4>;
  using Warp = cub::WarpMergeSort<int, 4, 16>;
  __shared__ Block::TempStorage blockStorage;
  __shared__ Warp::TempStorage warpStorage[4];
  // It reads one element after the last, and takes nothing of it.
  if (threadIdx.x == 0) {
    memset(&blockStorage, 0, sizeof(blockStorage));
    memset(&warpStorage, 0, sizeof(warpStorage));
  }
  __syncthreads();
  int mine[4], other[4];
  for (int i = 0; i < 4; ++i)
    other[i] = mine[i] = in[4 * threadIdx.x + i];
  Block(blockStorage).StableSort(mine, Less());
  Warp(warpStorage[threadIdx.x / 16]).Sort(other, Less());
  for (int i = 0; i < 4; ++i) {
    block[4 * threadIdx.x + i] = mine[i];
    warps[4 * threadIdx.x + i] = other[i];
  }
})",
                        .threads = 64,
                        .arrays = {bytesOf(in), Bytes(1024), Bytes(1024)}});
  auto block = in, warps = in;
  std::ranges::sort(block);
  for (auto at = warps.begin(); at != warps.end(); at += 64)
    std::sort(at, at + 64);
  CHECK(valuesOf<int32_t>(out[1]) == block);
  CHECK(valuesOf<int32_t>(out[2]) == warps);
}

TEST_CASE("CUB reduces and scans warps, also by segments", "[.long]") {
  const auto in = sample(128);
  const auto out = run({.headers = {"cub/warp/warp_reduce.cuh", "cub/warp/warp_scan.cuh"},
                        .source = R"(
extern "C" __global__ void k(const int *in, int *out) {
  using Reduce = cub::WarpReduce<int>;
  using Eight = cub::WarpReduce<int, 8>;
  using Scan = cub::WarpScan<int>;
  using Four = cub::WarpScan<int, 4>;
  __shared__ Reduce::TempStorage reduce[4];
  __shared__ Eight::TempStorage eight[16];
  __shared__ Scan::TempStorage scan[4];
  __shared__ Four::TempStorage four[32];
  const int i = threadIdx.x, value = in[i];
  int *mine = out + 6 * i, total;
  const int sum = Reduce(reduce[i / 32]).Sum(value);
  mine[0] = i % 32 ? 0 : sum;
  __syncwarp();
  const int head = Reduce(reduce[i / 32]).HeadSegmentedSum(value, i % 5 == 0);
  mine[1] = i % 32 == 0 || i % 5 == 0 ? head : 0;
  const int small = Eight(eight[i / 8]).Reduce(value, [](int a, int b) { return a < b ? a : b; });
  mine[2] = i % 8 ? 0 : small;
  Scan(scan[i / 32]).InclusiveSum(value, mine[3], total);
  Four(four[i / 4]).ExclusiveSum(value, mine[4]);
  mine[5] = total;
})",
                        .arrays = {bytesOf(in), Bytes(128 * 24)}});
  const auto result = valuesOf<int32_t>(out[1]);
  size_t wrong = 0;
  const auto at = [&](int i) { return in.begin() + i; };
  for (int i = 0; i < 128; ++i) {
    const int32_t *mine = &result[6 * i];
    const int warp = i / 32 * 32, end = std::min(warp + 32, (i / 5 + 1) * 5);
    const int32_t total = std::accumulate(at(warp), at(warp + 32), 0);
    wrong += mine[0] != (i % 32 ? 0 : total);
    wrong += mine[1] != (i % 32 == 0 || i % 5 == 0 ? std::accumulate(at(i), at(end), 0) : 0);
    wrong += mine[2] != (i % 8 ? 0 : *std::min_element(at(i), at(i + 8)));
    wrong += mine[3] != std::accumulate(at(warp), at(i + 1), 0);
    wrong += mine[4] != std::accumulate(at(i / 4 * 4), at(i), 0) || mine[5] != total;
  }
  CHECK(wrong == 0);
}

TEST_CASE("CUB loads, exchanges and stores", "[.long]") {
  const auto in = sample(512);
  const auto out = run(
      {.headers = {"cub/block/block_load.cuh", "cub/block/block_store.cuh", "cub/block/block_exchange.cuh"},
       .source = R"(
extern "C" __global__ void k(const int *in, int *out, int *striped, int n) {
  using Load = cub::BlockLoad<int, 64, 8, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, 64, 8, cub::BLOCK_STORE_TRANSPOSE>;
  using Exchange = cub::BlockExchange<int, 64, 8>;
  __shared__ union { Load::TempStorage load; Store::TempStorage store; Exchange::TempStorage exchange; } storage;
  int items[8], other[8];
  Load(storage.load).Load(in, items, n, -1);
  __syncthreads();
  Exchange(storage.exchange).BlockedToStriped(items, other);
  for (int i = 0; i < 8; ++i) {
    striped[8 * threadIdx.x + i] = other[i];
    items[i] = items[i] * 2 + i;
  }
  __syncthreads();
  Store(storage.store).Store(out, items);
})",
       .threads = 64,
       .arrays = {bytesOf(in), Bytes(2048), Bytes(2048)},
       .integers = {500}});
  std::vector<int32_t> expected(512), striped(512);
  for (size_t i = 0; i < 512; ++i) {
    expected[i] = (i < 500 ? in[i] : -1) * 2 + int32_t(i % 8);
    const size_t from = i % 8 * 64 + i / 8;
    striped[i] = from < 500 ? in[from] : -1;
  }
  CHECK(valuesOf<int32_t>(out[1]) == expected);
  CHECK(valuesOf<int32_t>(out[2]) == striped);
}

TEST_CASE("CUB counts, and finds where values change", "[.long]") {
  const auto in = randomValues<uint8_t>(512, 0, 7);
  const auto out = run({.headers = {"cub/block/block_histogram.cuh", "cub/block/block_discontinuity.cuh",
                                    "cub/block/block_adjacent_difference.cuh"},
                        .source = R"(
struct Differ { __device__ bool operator()(int a, int b) const { return a != b; } };
struct Minus { __device__ int operator()(int a, int b) const { return a - b; } };
extern "C" __global__ void k(const unsigned char *in, unsigned *bins, int *flags, int *differences) {
  using Atomic = cub::BlockHistogram<unsigned char, 128, 4, 8, cub::BLOCK_HISTO_ATOMIC>;
  using Sort = cub::BlockHistogram<unsigned char, 128, 4, 8, cub::BLOCK_HISTO_SORT>;
  using Discontinuity = cub::BlockDiscontinuity<int, 128>;
  using Difference = cub::BlockAdjacentDifference<int, 128>;
  __shared__ union {
    Atomic::TempStorage atomic;
    Sort::TempStorage sort;
    Discontinuity::TempStorage discontinuity;
    Difference::TempStorage difference;
  } storage;
  __shared__ unsigned counts[2][8];
  unsigned char bytes[4], again[4];
  int items[4], heads[4], change[4];
  for (int i = 0; i < 4; ++i)
    again[i] = bytes[i] = items[i] = in[4 * threadIdx.x + i];
  Atomic(storage.atomic).Histogram(bytes, counts[0]);
  __syncthreads();
  Sort(storage.sort).Histogram(again, counts[1]);
  __syncthreads();
  Discontinuity(storage.discontinuity).FlagHeads(heads, items, Differ());
  __syncthreads();
  Difference(storage.difference).SubtractLeft(items, change, Minus());
  for (int i = 0; i < 4; ++i) {
    flags[4 * threadIdx.x + i] = heads[i];
    differences[4 * threadIdx.x + i] = change[i];
  }
  if (threadIdx.x < 16)
    bins[threadIdx.x] = counts[threadIdx.x / 8][threadIdx.x % 8];
})",
                        .arrays = {bytesOf(in), Bytes(64), Bytes(2048), Bytes(2048)}});
  std::vector<uint32_t> bins(16);
  std::vector<int32_t> flags(512), differences(512);
  for (size_t i = 0; i < 512; ++i) {
    ++bins[in[i]];
    ++bins[8 + in[i]];
    flags[i] = i == 0 || in[i] != in[i - 1];
    differences[i] = i == 0 ? in[0] : in[i] - in[i - 1];
  }
  CHECK(valuesOf<uint32_t>(out[1]) == bins);
  CHECK(valuesOf<int32_t>(out[2]) == flags);
  CHECK(valuesOf<int32_t>(out[3]) == differences);
}
