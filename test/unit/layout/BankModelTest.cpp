// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bank conflicts of known accesses, and that staging avoids them.
#include "dialects/layout/BankModel.h"

#include "dialects/layout/StockLayouts.h"

#include <catch2/catch.hpp>

using namespace tlc;

namespace {

template <class Address> BankCost cost(int64_t width, Address address) {
  std::array<std::optional<int64_t>, 32> addresses;
  for (size_t lane = 0; lane < 32; ++lane)
    addresses[lane] = address(int64_t(lane));
  return bankCost(addresses, width);
}

} // namespace

TEST_CASE("known accesses cost what they cost", "[layout][bank][unit]") {
  REQUIRE(cost(4, [](int64_t l) { return l * 4; }) == BankCost{1, 1});
  REQUIRE(cost(4, [](int64_t l) { return l * 8; }) == BankCost{2, 1});
  REQUIRE(cost(4, [](int64_t l) { return l * 128; }) == BankCost{32, 1});
  REQUIRE(cost(4, [](int64_t l) { return l * 132; }) == BankCost{1, 1});
  REQUIRE(cost(4, [](int64_t) { return 64; }) == BankCost{1, 1});
  REQUIRE(cost(2, [](int64_t l) { return l * 2; }) == BankCost{1, 1});
  REQUIRE(cost(8, [](int64_t l) { return l * 8; }) == BankCost{2, 2});
  REQUIRE(cost(16, [](int64_t l) { return l * 16; }) == BankCost{4, 4});
  REQUIRE(cost(16, [](int64_t l) { return l * 128; }) == BankCost{32, 4});
  REQUIRE(cost(16, [](int64_t l) { return l * 128; }).conflicts() == 28);
}

TEST_CASE("inactive lanes cost nothing", "[layout][bank][unit]") {
  std::array<std::optional<int64_t>, 32> nobody;
  REQUIRE(bankCost(nobody, 4) == BankCost{0, 0});
  std::array<std::optional<int64_t>, 32> half;
  for (size_t lane = 0; lane < 8; ++lane)
    half[lane] = int64_t(lane) * 16;
  REQUIRE(bankCost(half, 16) == BankCost{1, 1});
}

TEST_CASE("the 128-byte swizzle makes an accumulator's store conflict-free", "[layout][bank][unit]") {
  FragmentLayout accumulator = wgmmaAccumulator(64, 64, {1, 1});
  BankCost plain = bankCost(accumulator, SharedLayout::plain({64, 64}, 16, 1));
  BankCost swizzled = bankCost(accumulator, SharedLayout::preferred({64, 64}, 16, 1));
  REQUIRE(plain.ideal == 16);
  REQUIRE(plain.wavefronts == 8 * plain.ideal);
  REQUIRE(swizzled == BankCost{16, 16});
}

TEST_CASE("vectors are as wide as both sides allow", "[layout][bank][unit]") {
  SharedLayout tile = SharedLayout::preferred({64, 64}, 16, 1);
  REQUIRE(sharedVectorElements(wgmmaAccumulator(64, 64, {1, 1}), tile) == 2);
  REQUIRE(sharedVectorElements(blockedLayout({64, 64}, 16, 4, 1), tile) == 8);
  REQUIRE(sharedVectorElements(blockedLayout({64, 64}, 16, 4, 0), tile) == 1);
  REQUIRE(sharedVectorElements(FragmentLayout::replicated({64, 64}, 4),
                               SharedLayout::plain({64, 64}, 16, 1)) == 8);
}

TEST_CASE("staged elements are aligned to their size", "[layout][bank][unit]") {
  for (int axis : {0, 1})
    for (int64_t rows : {15, 16, 64}) {
      FragmentLayout writer = blockedLayout({rows, 32}, 64, 4, axis),
                     reader = blockedLayout({rows, 32}, 64, 4, 1);
      SharedLayout staging = stagingLayout(writer, reader, {rows, 32}, 64);
      for (int64_t row = 0; row < rows; ++row)
        REQUIRE(staging.byteOffset({row, 1}) % 8 == 0);
    }
}

TEST_CASE("staging between an accumulator and coalesced rows has no conflicts", "[layout][bank][unit]") {
  FragmentLayout writer = wgmmaAccumulator(64, 64, {1, 1}), reader = blockedLayout({64, 64}, 16, 4, 1);
  SharedLayout staging = stagingLayout(writer, reader, {64, 64}, 16);
  REQUIRE(bankCost(writer, staging).conflicts() == 0);
  REQUIRE(bankCost(reader, staging).conflicts() == 0);
  // Few rows are not padded to the 8 of a swizzle.
  for (int64_t rows : {1, 2, 3}) {
    FragmentLayout few = blockedLayout({rows, 512}, 16, 4, 0);
    CHECK(stagingLayout(few, blockedLayout({rows, 512}, 16, 4, 1), {rows, 512}, 16).totalBytes() <=
          2 * rows * 512 * 2);
  }
  REQUIRE(stagingLayout(blockedLayout({100}, 32, 1, 0), blockedLayout({100}, 32, 1, 0, 4), {100}, 32) ==
          SharedLayout::plain({100}, 32, 0));
}
