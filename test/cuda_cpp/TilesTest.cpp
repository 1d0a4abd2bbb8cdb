// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cooperative groups: tiles of 2 to 32 lanes, and groups of those that are there.
#include "test/cuda_cpp/Run.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::test;

namespace {

constexpr unsigned threads = 64;

std::vector<int32_t> sample(int32_t least = -1000, int32_t most = 1000) {
  return randomValues<int32_t>(threads, least, most);
}

} // namespace

TEST_CASE("tiles of every size reduce", "[cuda-cpp][tiles]") {
  const auto in = sample();
  const auto out = run({.headers = {"cooperative_groups.h", "cooperative_groups/reduce.h"},
                        .source = R"(
namespace cg = cooperative_groups;
template <int size> __device__ void reduce(const int *in, int *out) {
  auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  const int value = in[threadIdx.x];
  out[0] = cg::reduce(tile, value, cg::plus<int>());
  out[1] = cg::reduce(tile, value, cg::less<int>());
  out[2] = cg::reduce(tile, value, cg::greater<int>());
  out[3] = cg::reduce(tile, value, cg::bit_xor<int>());
  out[4] = (int)cg::reduce(tile, (long long)value * 3, [](long long a, long long b) { return a + b; });
}
extern "C" __global__ void k(const int *in, int *out) {
  int *mine = out + threadIdx.x * 25;
  reduce<2>(in, mine);
  reduce<4>(in, mine + 5);
  reduce<8>(in, mine + 10);
  reduce<16>(in, mine + 15);
  reduce<32>(in, mine + 20);
})",
                        .threads = threads,
                        .arrays = {bytesOf(in), Bytes(threads * 100)}});
  const auto result = valuesOf<int32_t>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < threads; ++i)
    for (size_t log = 1; log <= 5; ++log) {
      const size_t size = size_t(1) << log, first = i / size * size;
      const std::vector<int32_t> tile(in.begin() + first, in.begin() + first + size);
      const int32_t *mine = &result[i * 25 + (log - 1) * 5];
      const int32_t sum = std::accumulate(tile.begin(), tile.end(), 0);
      wrong += mine[0] != sum || mine[1] != *std::ranges::min_element(tile) ||
               mine[2] != *std::ranges::max_element(tile) ||
               mine[3] != std::accumulate(tile.begin(), tile.end(), 0, std::bit_xor<>()) ||
               mine[4] != 3 * sum;
    }
  CHECK(wrong == 0);
}

TEST_CASE("tiles of every size scan", "[cuda-cpp][tiles]") {
  const auto in = sample();
  const auto out = run({.headers = {"cooperative_groups.h", "cooperative_groups/scan.h"},
                        .source = R"(
namespace cg = cooperative_groups;
template <int size> __device__ void scan(const int *in, int *out) {
  auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  const int value = in[threadIdx.x];
  out[0] = cg::inclusive_scan(tile, value);
  out[1] = cg::exclusive_scan(tile, value);
  out[2] = cg::inclusive_scan(tile, value, cg::greater<int>());
}
extern "C" __global__ void k(const int *in, int *out) {
  int *mine = out + threadIdx.x * 15;
  scan<2>(in, mine);
  scan<4>(in, mine + 3);
  scan<8>(in, mine + 6);
  scan<16>(in, mine + 9);
  scan<32>(in, mine + 12);
})",
                        .threads = threads,
                        .arrays = {bytesOf(in), Bytes(threads * 60)}});
  const auto result = valuesOf<int32_t>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < threads; ++i)
    for (size_t log = 1; log <= 5; ++log) {
      const size_t first = i >> log << log;
      const int32_t before = std::accumulate(in.begin() + first, in.begin() + i, 0);
      const int32_t *mine = &result[i * 15 + (log - 1) * 3];
      wrong += mine[0] != before + in[i] || mine[1] != before ||
               mine[2] != *std::max_element(in.begin() + first, in.begin() + i + 1);
    }
  CHECK(wrong == 0);
}

TEST_CASE("tiles of every size shuffle", "[cuda-cpp][tiles]") {
  const auto in = sample();
  const auto out = run({.headers = {"cooperative_groups.h"},
                        .source = R"(
namespace cg = cooperative_groups;
struct Pair { int a; double b; };
template <int size> __device__ void shuffle(const int *in, int *out) {
  auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  const int value = in[threadIdx.x];
  out[0] = tile.shfl(value, value & (size - 1));
  out[1] = tile.shfl_up(value, 1);
  out[2] = tile.shfl_down(value, size / 2);
  const Pair other = tile.shfl_xor(Pair{value, value * 0.5}, size - 1);
  out[3] = other.a + (int)(other.b * 4);
}
extern "C" __global__ void k(const int *in, int *out) {
  int *mine = out + threadIdx.x * 16;
  shuffle<2>(in, mine);
  shuffle<4>(in, mine + 4);
  shuffle<8>(in, mine + 8);
  shuffle<16>(in, mine + 12);
})",
                        .threads = threads,
                        .arrays = {bytesOf(in), Bytes(threads * 64)}});
  const auto result = valuesOf<int32_t>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < threads; ++i)
    for (size_t log = 1; log <= 4; ++log) {
      const size_t size = size_t(1) << log, first = i / size * size, rank = i % size;
      const int32_t *mine = &result[i * 16 + (log - 1) * 4];
      wrong += mine[0] != in[first + (size_t(in[i]) & (size - 1))] || mine[1] != in[rank ? i - 1 : i] ||
               mine[2] != in[rank + size / 2 < size ? i + size / 2 : i] ||
               mine[3] != 3 * in[first + (rank ^ (size - 1))];
    }
  CHECK(wrong == 0);
}

TEST_CASE("tiles of every size vote and match", "[cuda-cpp][tiles]") {
  const auto in = sample(0, 3);
  const auto out = run({.headers = {"cooperative_groups.h"},
                        .source = R"(
namespace cg = cooperative_groups;
template <int size> __device__ void vote(const int *in, unsigned *out) {
  auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  const int value = in[threadIdx.x];
  int same;
  out[0] = tile.any(value == 3);
  out[1] = tile.all(value < 3);
  out[2] = tile.ballot(value & 1);
  out[3] = tile.match_any(value);
  out[4] = tile.match_all(value / 2, same) + 1000 * same;
  out[5] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
}
extern "C" __global__ void k(const int *in, unsigned *out) {
  unsigned *mine = out + threadIdx.x * 24;
  vote<2>(in, mine);
  vote<4>(in, mine + 6);
  vote<8>(in, mine + 12);
  vote<16>(in, mine + 18);
})",
                        .threads = threads,
                        .arrays = {bytesOf(in), Bytes(threads * 96)}});
  const auto result = valuesOf<uint32_t>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < threads; ++i)
    for (size_t log = 1; log <= 4; ++log) {
      const size_t size = size_t(1) << log, first = i / size * size;
      uint32_t three = 0, odd = 0, same = 0, half = 0;
      for (size_t lane = 0; lane < size; ++lane) {
        const int32_t other = in[first + lane];
        three |= uint32_t(other == 3) << lane;
        odd |= uint32_t(other & 1) << lane;
        same |= uint32_t(other == in[i]) << lane;
        half |= uint32_t(other / 2 == in[i] / 2) << lane;
      }
      const uint32_t all = (1u << size) - 1;
      const uint32_t *mine = &result[i * 24 + (log - 1) * 6];
      wrong += mine[0] != (three != 0) || mine[1] != (three == 0) || mine[2] != odd || mine[3] != same ||
               mine[4] != (half == all ? all + 1000 : 0) ||
               mine[5] != i % size + 100 * (i / size) + 10000 * (threads / size);
    }
  CHECK(wrong == 0);
}

TEST_CASE("tiles of one warp go different ways and wait in shared memory", "[cuda-cpp][tiles]") {
  const auto in = sample();
  const auto out = run({.headers = {"cooperative_groups.h", "cooperative_groups/reduce.h"},
                        .source = R"(
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int memory[64];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int *mine = memory + 8 * tile.meta_group_rank();
  int value = in[threadIdx.x];
  if (tile.meta_group_rank() % 2) {
    for (unsigned round = 0; round <= tile.meta_group_rank(); ++round) {
      mine[tile.thread_rank()] = value;
      tile.sync();
      value += mine[(tile.thread_rank() + 1) % 8];
      tile.sync();
    }
  } else {
    value = cg::reduce(tile, value, cg::plus<int>()) - tile.shfl(value, tile.meta_group_rank());
  }
  out[threadIdx.x] = value;
})",
                        .threads = threads,
                        .arrays = {bytesOf(in), Bytes(threads * 4)}});
  std::vector<int32_t> expected = in;
  for (size_t tile = 0; tile < 8; ++tile) {
    int32_t *values = &expected[8 * tile];
    const std::vector<int32_t> start(values, values + 8);
    if (tile % 2 == 0)
      std::fill(values, values + 8, std::accumulate(start.begin(), start.end(), 0) - start[tile]);
    for (size_t round = 0; tile % 2 && round <= tile; ++round) {
      const std::vector<int32_t> before(values, values + 8);
      for (size_t i = 0; i < 8; ++i)
        values[i] += before[(i + 1) % 8];
    }
  }
  CHECK(valuesOf<int32_t>(out[1]) == expected);
}

TEST_CASE("tiles of several warps", "[cuda-cpp][tiles]") {
  const auto in = randomValues<int32_t>(256, -1000, 1000);
  const auto out =
      run({.headers = {"cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h"},
           .source = R"(
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<64>(block);
  const int value = in[block.thread_rank()];
  int *mine = out + 3 * block.thread_rank();
  mine[0] = cg::reduce(tile, value, cg::plus<int>());
  mine[1] = cg::inclusive_scan(tile, value);
  mine[2] = tile.shfl(value, 63) + 10000 * tile.any(value > 990);
})",
           .threads = 256,
           .arrays = {bytesOf(in), Bytes(256 * 12)},
           .raceCheck = RaceCheck::off}); // the library takes shuffles for an order of memory
  const auto result = valuesOf<int32_t>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < 256; ++i) {
    const auto tile = in.begin() + ptrdiff_t(i / 64 * 64);
    const bool any = std::any_of(tile, tile + 64, [](int32_t value) { return value > 990; });
    wrong += result[3 * i] != std::accumulate(tile, tile + 64, 0) ||
             result[3 * i + 1] != std::accumulate(tile, in.begin() + ptrdiff_t(i) + 1, 0) ||
             result[3 * i + 2] != tile[63] + 10000 * any;
  }
  CHECK(wrong == 0);
}

TEST_CASE("those that are in a branch share one atomic", "[cuda-cpp][tiles]") {
  const auto in = randomValues<int32_t>(512, -100, 100);
  const auto runs = runEach({.headers = {"cooperative_groups.h", "cooperative_groups/reduce.h"},
                             .source = R"(
namespace cg = cooperative_groups;
__device__ int next(int *counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0)
    first = atomicAdd(counter, active.num_threads());
  return active.shfl(first, 0) + active.thread_rank();
}
extern "C" __global__ void k(const int *in, int *kept, int *counter, int *sum) {
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (value > 20) {
    kept[next(counter)] = value;
    cg::coalesced_group active = cg::coalesced_threads();
    const int total = cg::reduce(active, value, cg::plus<int>());
    if (active.thread_rank() == active.num_threads() - 1)
      atomicAdd(sum, total);
  }
})",
                             .blocks = 4,
                             .arrays = {bytesOf(in), Bytes(512 * 4), Bytes(4), Bytes(4)}});
  std::vector<int32_t> expected;
  std::ranges::copy_if(in, std::back_inserter(expected), [](int32_t value) { return value > 20; });
  std::ranges::sort(expected);
  for (const Run &each : runs) { // places are those of the order of the threads
    INFO(each.how);
    REQUIRE(valuesOf<int32_t>(each.arrays[2])[0] == int32_t(expected.size()));
    CHECK(valuesOf<int32_t>(each.arrays[3])[0] == std::accumulate(expected.begin(), expected.end(), 0));
    auto kept = valuesOf<int32_t>(each.arrays[1]);
    kept.resize(expected.size());
    std::ranges::sort(kept);
    CHECK(kept == expected);
  }
}

TEST_CASE("groups by label, by yes and no, and parts of groups", "[cuda-cpp][tiles]") {
  const auto in = sample(0, 5);
  const auto out =
      run({.headers = {"cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h"},
           .source = R"(
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int value = in[threadIdx.x];
  int *mine = out + 6 * threadIdx.x;
  auto label = cg::labeled_partition(warp, value);
  mine[0] = label.num_threads() * 100 + label.thread_rank();
  mine[1] = cg::reduce(label, (int)threadIdx.x, cg::plus<int>());
  auto side = cg::binary_partition(warp, value < 2);
  mine[2] = side.num_threads() * 100 + side.thread_rank();
  mine[3] = cg::inclusive_scan(side, value);
  mine[4] = __popc(side.ballot(value & 1)) + 100 * side.any(value == 5);
  if (value != 3) {
    auto part = cg::tiled_partition(cg::coalesced_threads(), 4);
    mine[5] = part.num_threads() * 100 + part.thread_rank();
  }
})",
           .threads = threads,
           .arrays = {bytesOf(in), Bytes(threads * 24)}});
  const auto result = valuesOf<int32_t>(out[1]);
  size_t wrong = 0;
  for (size_t i = 0; i < threads; ++i) {
    int32_t size = 0, rank = 0, sum = 0, sideSize = 0, sideRank = 0, scan = 0, odd = 0, five = 0, there = 0,
            before = 0;
    for (size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) {
      const bool same = in[j] == in[i], side = (in[j] < 2) == (in[i] < 2);
      size += same;
      rank += same && j < i;
      sum += same ? int32_t(j) : 0;
      sideSize += side;
      sideRank += side && j < i;
      scan += side && j <= i ? in[j] : 0;
      odd += side && (in[j] & 1);
      five |= side && in[j] == 5;
      there += in[j] != 3;
      before += in[j] != 3 && j < i;
    }
    const int32_t *mine = &result[6 * i];
    wrong += mine[0] != size * 100 + rank || mine[1] != sum || mine[2] != sideSize * 100 + sideRank ||
             mine[3] != scan || mine[4] != odd + 100 * five;
    wrong += mine[5] != (in[i] == 3 ? 0 : std::min(4, there - before / 4 * 4) * 100 + before % 4);
  }
  CHECK(wrong == 0);
}

TEST_CASE("a group copies to shared memory while it works", "[cuda-cpp][tiles]") {
  const auto in = randomValues<int32_t>(1024, -1000, 1000);
  const auto out = run({.headers = {"cooperative_groups.h", "cooperative_groups/memcpy_async.h"},
                        .source = R"(
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ alignas(16) int memory[2][256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, memory[0], in, sizeof(int) * 256);
  for (int i = 0; i < 4; ++i) {
    if (i < 3) {
      cg::memcpy_async(block, memory[(i + 1) % 2], in + 256 * (i + 1), sizeof(int) * 256);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    for (int j = block.thread_rank(); j < 256; j += block.num_threads())
      out[256 * i + j] = memory[i % 2][255 - j] * 2;
    block.sync();
  }
})",
                        .arrays = {bytesOf(in), Bytes(4096)}});
  std::vector<int32_t> expected(1024);
  for (size_t i = 0; i < 1024; ++i)
    expected[i] = in[i / 256 * 256 + 255 - i % 256] * 2;
  CHECK(valuesOf<int32_t>(out[1]) == expected);
}
