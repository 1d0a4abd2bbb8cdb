// SPDX-License-Identifier: Apache-2.0
/// \file
/// Threads that wait for each other by memory: locks, semaphores, flags, queues.
#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/target/Target.h"
#include "test/cuda_cpp/Run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::test;

TEST_CASE("a spin lock with fences, of all lanes of several blocks", "[cuda-cpp][synchronization]") {
  const auto runs = runEach({.source = R"(
extern "C" __global__ void k(int *lock, int *count, int *list) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      const int at = *count;
      list[at] = blockIdx.x * blockDim.x + threadIdx.x;
      *count = at + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
})",
                             .blocks = 3,
                             .threads = 64,
                             .arrays = {Bytes(4), Bytes(4), Bytes(192 * 4)}});
  std::vector<int32_t> expected(192);
  std::iota(expected.begin(), expected.end(), 0);
  for (const Run &run : runs) {
    INFO(run.how);
    CHECK(valuesOf<int32_t>(run.arrays[1])[0] == 192);
    auto list = valuesOf<int32_t>(run.arrays[2]);
    std::ranges::sort(list);
    CHECK(list == expected);
  }
}

TEST_CASE("a ticket lock that waits longer the farther it is behind", "[cuda-cpp][synchronization]") {
  const auto out = run({.source = R"(
extern "C" __global__ void k(unsigned *next, unsigned *serving, int *value) {
  if (threadIdx.x % 32 != 0)
    return;
  const unsigned ticket = atomicAdd(next, 1u);
  for (;;) {
    unsigned now;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(serving) : "memory");
    if (now == ticket)
      break;
    __nanosleep(40 * (ticket - now));
  }
  *value = *value * 3 + 1;
  asm volatile("st.release.gpu.u32 [%0], %1;" :: "l"(serving), "r"(ticket + 1) : "memory");
})",
                        .blocks = 3,
                        .arrays = {Bytes(4), Bytes(4), Bytes(4)}});
  int32_t expected = 0;
  for (int i = 0; i < 12; ++i)
    expected = expected * 3 + 1;
  CHECK(valuesOf<int32_t>(out[2])[0] == expected);
  CHECK(valuesOf<uint32_t>(out[1])[0] == 12);
}

TEST_CASE("a semaphore lets three in at a time", "[cuda-cpp][synchronization]") {
  const auto runs = runEach({.headers = {"cuda/semaphore", "cuda/atomic"},
                             .source = R"(
extern "C" __global__ void k(int *most, int *sum) {
  __shared__ cuda::counting_semaphore<cuda::thread_scope_block, 3> semaphore;
  __shared__ int inside;
  if (threadIdx.x == 0) {
    new (&semaphore) cuda::counting_semaphore<cuda::thread_scope_block, 3>(3);
    inside = 0;
  }
  __syncthreads();
  if (threadIdx.x % 16 == 0) {
    semaphore.acquire();
    const int now = atomicAdd(&inside, 1) + 1;
    atomicMax(most, now);
    atomicAdd(sum, (int)threadIdx.x);
    atomicSub(&inside, 1);
    semaphore.release();
  }
})",
                             .threads = 256,
                             .arrays = {Bytes(4), Bytes(4)}});
  for (const Run &run : runs) {
    INFO(run.how);
    CHECK(valuesOf<int32_t>(run.arrays[0])[0] >= 1);
    CHECK(valuesOf<int32_t>(run.arrays[0])[0] <= 3);
    CHECK(valuesOf<int32_t>(run.arrays[1])[0] == 16 * 120);
  }
}

TEST_CASE("the last block sums what all have left", "[cuda-cpp][synchronization]") {
  const auto in = randomValues<int32_t>(4096, -1000, 1000);
  const auto out = run({.source = R"(
extern "C" __global__ void k(const int *in, int *partial, unsigned *finished, int *result) {
  __shared__ int sums[4];
  __shared__ bool isLast;
  int sum = 0;
  for (int i = threadIdx.x; i < 512; i += blockDim.x)
    sum += in[512 * blockIdx.x + i];
  sum = __reduce_add_sync(~0u, sum);
  if (threadIdx.x % 32 == 0)
    sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
    __threadfence();
    isLast = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (isLast && threadIdx.x < 32) {
    const int value = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0;
    const int total = __reduce_add_sync(~0u, value);
    if (threadIdx.x == 0)
      *result = total;
  }
})",
                        .blocks = 8,
                        .arrays = {bytesOf(in), Bytes(32), Bytes(4), Bytes(4)}});
  CHECK(valuesOf<int32_t>(out[3])[0] == std::accumulate(in.begin(), in.end(), 0));
  CHECK(valuesOf<uint32_t>(out[2])[0] == 0);
}

TEST_CASE("a prefix sum of one launch looks back at the blocks before", "[cuda-cpp][synchronization]") {
  const auto in = randomValues<int32_t>(2048, -50, 50);
  const auto out = run({.source = R"(
__device__ unsigned long long load(const unsigned long long *p) {
  unsigned long long value;
  asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
  return value;
}
__device__ void store(unsigned long long *p, unsigned kind, int sum) {
  asm volatile("st.release.gpu.u64 [%0], %1;" :: "l"(p), "l"((unsigned long long)kind << 32 | (unsigned)sum) : "memory");
}
extern "C" __global__ void k(const int *in, int *out, unsigned *order, unsigned long long *state) {
  __shared__ int warps[8], before;
  __shared__ unsigned block;
  if (threadIdx.x == 0)
    block = atomicAdd(order, 1u);
  __syncthreads();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, at = block * 256 + threadIdx.x;
  int value = in[at];
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(~0u, value, distance);
    if (lane >= distance)
      value += other;
  }
  if (lane == 31)
    warps[warp] = value;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 8; ++i) {
    value += i < warp ? warps[i] : 0;
    sum += warps[i];
  }
  if (threadIdx.x == 0) {
    store(state + block, block == 0 ? 2 : 1, sum);
    int total = 0;
    for (int i = (int)block - 1; i >= 0;) {
      const unsigned long long seen = load(state + i);
      if (seen >> 32 == 0)
        continue;
      total += (int)seen;
      if (seen >> 32 == 2)
        break;
      --i;
    }
    before = total;
    if (block)
      store(state + block, 2, total + sum);
  }
  __syncthreads();
  out[at] = before + value;
})",
                        .blocks = 8,
                        .threads = 256,
                        .arrays = {bytesOf(in), Bytes(8192), Bytes(4), Bytes(64)}});
  std::vector<int32_t> expected(2048);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  CHECK(valuesOf<int32_t>(out[1]) == expected);
}

TEST_CASE("blocks hand values round by flags of the C++ library", "[cuda-cpp][synchronization]") {
  const auto out = run({.headers = {"cuda/atomic"},
                        .source = R"(
extern "C" __global__ void k(int *data, int *flags, int *out) {
  const int from = (blockIdx.x + gridDim.x - 1) % gridDim.x;
  int sum = 0;
  for (int round = 1; round <= 3; ++round) {
    if (threadIdx.x == 0) {
      data[4 * blockIdx.x + round] = 100 * blockIdx.x + round;
      cuda::atomic_ref<int, cuda::thread_scope_device>(flags[blockIdx.x]).store(round, cuda::memory_order_release);
      cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[from]);
      while (flag.load(cuda::memory_order_acquire) < round)
        __nanosleep(20);
    }
    __syncthreads();
    sum += data[4 * from + round];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
})",
                        .blocks = 4,
                        .threads = 32,
                        .arrays = {Bytes(64), Bytes(16), Bytes(512)}});
  const auto result = valuesOf<int32_t>(out[2]);
  for (int i = 0; i < 128; ++i)
    CHECK(result[i] == 300 * ((i / 32 + 3) % 4) + 6);
}

TEST_CASE("a stack without locks, by compare and swap", "[cuda-cpp][synchronization]") {
  const auto runs = runEach({.source = R"(
// The upper half of the head counts the changes.
extern "C" __global__ void k(unsigned long long *head, int *next, int *taken) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long old = *(volatile unsigned long long *)head, seen;
  for (;; old = seen) {
    atomicExch(&next[i], (int)old);
    __threadfence();
    seen = atomicCAS(head, old, ((old >> 32) + 1) << 32 | (unsigned)(i + 1));
    if (seen == old)
      break;
  }
  __syncthreads();
  if (threadIdx.x % 2) {
    old = *(volatile unsigned long long *)head;
    for (;; old = seen) {
      __threadfence();
      const int after = atomicAdd(&next[(int)old - 1], 0);
      seen = atomicCAS(head, old, ((old >> 32) + 1) << 32 | (unsigned)after);
      if (seen == old)
        break;
    }
    taken[(int)old - 1] = 1;
  }
})",
                             .blocks = 2,
                             .threads = 64,
                             .arrays = {Bytes(8), Bytes(512), Bytes(512)}});
  for (const Run &run : runs) {
    INFO(run.how);
    const auto next = valuesOf<int32_t>(run.arrays[1]), taken = valuesOf<int32_t>(run.arrays[2]);
    CHECK(std::accumulate(taken.begin(), taken.end(), 0) == 64);
    const uint64_t head = valuesOf<uint64_t>(run.arrays[0])[0];
    CHECK(head >> 32 == 192);
    int left = 0;
    for (int32_t at = int32_t(head); at; at = next[at - 1], ++left) {
      REQUIRE(left < 128);
      CHECK(taken[at - 1] == 0);
    }
    CHECK(left == 64);
  }
}

TEST_CASE("a latch, and warps that hand buffers over by named barriers", "[cuda-cpp][synchronization]") {
  const auto out = run({.headers = {"cuda/latch"},
                        .source = R"(
__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 64;" :: "r"(barrier) : "memory"); }
__device__ void wait(int barrier) { asm volatile("bar.sync %0, 64;" :: "r"(barrier) : "memory"); }
extern "C" __global__ void k(int *out) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(Latch) unsigned char memory[sizeof(Latch)];
  Latch &latch = *reinterpret_cast<Latch *>(memory);
  __shared__ int buffers[2][32];
  if (threadIdx.x == 0)
    new (&latch) Latch(64);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) { // makes
    for (int i = 0; i < 6; ++i) {
      if (i >= 2)
        wait(3 + i % 2);
      buffers[i % 2][lane] = i * 100 + lane;
      arrive(1 + i % 2);
    }
  } else { // takes
    int sum = 0;
    for (int i = 0; i < 6; ++i) {
      wait(1 + i % 2);
      sum = sum * 3 + buffers[i % 2][31 - lane];
      if (i < 4)
        arrive(3 + i % 2);
    }
    out[lane] = sum;
  }
  latch.arrive_and_wait();
  out[32 + threadIdx.x] = 7;
})",
                        .threads = 64,
                        .arrays = {Bytes(96 * 4)}});
  const auto result = valuesOf<int32_t>(out[0]);
  for (int lane = 0; lane < 32; ++lane) {
    int sum = 0;
    for (int i = 0; i < 6; ++i)
      sum = sum * 3 + i * 100 + 31 - lane;
    CHECK(result[lane] == sum);
    CHECK(result[32 + lane] + result[64 + lane] == 14);
  }
}

TEST_CASE("blocks of a cooperative launch wait for the grid", "[cuda-cpp][synchronization]") {
  // The runtime has no such launches; the emulator has.
  for (Translation translation : {Translation::optimized, Translation::debug}) {
    INFO((translation == Translation::debug ? "translated for a debugger" : "optimised"));
    auto ptx = translate("#include <cooperative_groups.h>\n"
                         R"(
extern "C" __global__ void k(int *out) {
  auto grid = cooperative_groups::this_grid();
  const int i = grid.thread_rank(), n = grid.size();
  out[i] = i;
  for (int round = 0; round < 3; ++round) {
    grid.sync();
    const int next = out[(i + blockDim.x) % n];
    grid.sync();
    out[i] = next + 1;
  }
})",
                         translation);
    INFO((ptx ? "" : ptx.error().message));
    REQUIRE(ptx);
    auto program = emulator::loadProgram(*ptx);
    INFO((program ? "" : program.error().message));
    REQUIRE(program);
    constexpr int threads = 64, blocks = 6, all = threads * blocks;
    std::vector<int32_t> out(all);
    std::vector<emulator::MemoryRange> ranges = (*program)->ranges;
    ranges.push_back({reinterpret_cast<uint64_t>(out.data()), out.size() * sizeof(out[0])});
    const uint64_t address = reinterpret_cast<uint64_t>(out.data());
    emulator::LaunchConfiguration launch = {.entry = "k"};
    launch.grid = {blocks, 1, 1};
    launch.block = {threads, 1, 1};
    launch.cooperative = true;
    launch.parameters = std::as_bytes(std::span(&address, 1));
    emulator::Machine machine;
    machine.target = findTarget("sm_90a");
    machine.makeObserver = emulator::observeRaces(RaceCheck::on);
    const auto done = emulator::runGrid(**program, launch, emulator::MemoryMap(std::move(ranges)), machine);
    INFO((done ? "" : done.error().message));
    REQUIRE(done);
    for (int i = 0; i < all; ++i)
      CHECK(out[size_t(i)] == (i + 3 * threads) % all + 3);
  }
}
