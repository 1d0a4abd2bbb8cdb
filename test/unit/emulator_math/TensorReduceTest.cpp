// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element reductions with values inline, which combinations exist, and
/// atomicity between host threads.
#include "runtime/emulator/math/TensorMap.h"
#include "test/unit/emulator_math/Support.h"

#include <cmath>
#include <thread>

using namespace tlc;
using namespace tlc::emulator;
using T = TensorElement;
using R = Reduction;

TEST_CASE("integer reductions") {
  CHECK(reduceElement(R::add, T::u32, 0xFFFFFFFF, 2) == 1);
  CHECK(reduceElement(R::add, T::u64, ~0ull, 2) == 1);
  CHECK(reduceElement(R::min, T::s32, 0xFFFFFFFF, 1) == 0xFFFFFFFF);
  CHECK(reduceElement(R::min, T::u32, 0xFFFFFFFF, 1) == 1);
  CHECK(reduceElement(R::max, T::s64, ~0ull, 1) == 1);
  CHECK(reduceElement(R::max, T::u64, ~0ull, 1) == ~0ull);
  CHECK(reduceElement(R::inc, T::u32, 4, 5) == 5);
  CHECK(reduceElement(R::inc, T::u32, 5, 5) == 0);
  CHECK(reduceElement(R::inc, T::u32, 6, 5) == 0);
  CHECK(reduceElement(R::dec, T::u32, 0, 5) == 5);
  CHECK(reduceElement(R::dec, T::u32, 6, 5) == 5);
  CHECK(reduceElement(R::dec, T::u32, 5, 5) == 4);
  CHECK(reduceElement(R::bitAnd, T::u32, 0b1100, 0b1010) == 0b1000);
  CHECK(reduceElement(R::bitOr, T::u64, 0b1100, 0b1010) == 0b1110);
  CHECK(reduceElement(R::bitXor, T::s32, 0b1100, 0b1010) == 0b0110);
}

TEST_CASE("floating-point reductions") {
  CHECK(reduceElement(R::add, T::f32, 0x3F800000, 0x40000000) == 0x40400000);
  CHECK(reduceElement(R::add, T::f32, 0x80000001, 0x80000001) == 0x80000002); // subnormals stay
  CHECK(reduceElement(R::add, T::f32, 0x7F800000, 0xFF800000) == 0x7FFFFFFF);
  CHECK(reduceElement(R::add, T::f64, std::bit_cast<uint64_t>(1.5), std::bit_cast<uint64_t>(2.0)) ==
        std::bit_cast<uint64_t>(3.5));
  CHECK(reduceElement(R::add, T::f16, 0x0001, 0x0001) == 0x0002); // subnormals stay
  CHECK(reduceElement(R::add, T::bf16, 0x3F80, 0x3F80) == 0x4000);
  CHECK(reduceElement(R::add, T::bf16, 0x4380, 0x3F80) == 0x4380); // 256 + 1, a tie, to even
  CHECK(reduceElement(R::min, T::bf16, 0x0000, 0x8000) == 0x8000);
  CHECK(reduceElement(R::max, T::bf16, 0x8000, 0x0000) == 0x0000);
  CHECK(reduceElement(R::max, T::f16, 0x3C00, 0x7E00) == 0x3C00);
  CHECK(reduceElement(R::min, T::f16, 0x7E00, 0x3C00) == 0x3C00);
  CHECK(reduceElement(R::min, T::f16, 0x7E00, 0xFE01) == 0x7FFF);
}

TEST_CASE("reductions that do not exist are named") {
  const Result<void> result = checkReduction(R::max, T::f32);
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "bulk reduction max does not exist for f32");
  CHECK_FALSE(checkReduction(R::add, T::u8));
  CHECK_FALSE(checkReduction(R::inc, T::s32));
  CHECK_FALSE(checkReduction(R::bitXor, T::bf16));
  CHECK(checkReduction(R::add, T::f32));
  CHECK(checkReduction(R::dec, T::u32));
}

TEST_CASE("reductions of several threads lose nothing") {
  std::vector<float> global(1024 + 4);
  const uint64_t address = (uint64_t(global.data()) + 15) / 16 * 16;
  EmulatedTensorMap map{.globalAddress = address, .element = T::f32, .rank = 2};
  map.dims = {32, 32};
  map.strides = {128};
  map.box = {32, 32};
  map.swizzle = Swizzle::bytes128;
  REQUIRE(checkTensorMap(map));
  std::vector<std::byte> shared(4096);
  const float one = 1.0f;
  for (unsigned i = 0; i < 1024; ++i)
    std::memcpy(&shared[4 * i], &one, 4);
  const int32_t origin[] = {0, 0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        (void)reduceBox(map, R::add, origin, shared, 0);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (unsigned i = 0; i < 1024; ++i)
    CHECK(reinterpret_cast<const float *>(address)[i] == 400.0f);
}
