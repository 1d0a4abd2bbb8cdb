// SPDX-License-Identifier: Apache-2.0
/// \file
/// The names that messages give to global memory, and the progress of long launches.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

std::string describe(const std::vector<NamedTensor> &tensors, uint64_t address) {
  return describeElement(tensors, address).value_or("");
}

} // namespace

TEST_CASE("an address is that of an element of a tensor") {
  const std::vector<NamedTensor> tensors = {{"X", 4096, 4, {8, 64}, {64, 1}}};
  CHECK(describe(tensors, 4096) == "tensor 'X' at element [0, 0] (byte offset 0)");
  CHECK(describe(tensors, 4096 + 836) == "tensor 'X' at element [3, 17] (byte offset 836)");
  // Inside of an element.
  CHECK(describe(tensors, 4096 + 2047) == "tensor 'X' at element [7, 63] (byte offset 2047)");
  CHECK(describe(tensors, 4096 + 2048) == "");
  CHECK(describe(tensors, 4095) == "");
  CHECK(describe({{"s", 4096, 2}}, 4097) == "tensor 's' (byte offset 1)");
  CHECK(describe({{"none", 4096, 4, {0, 4}, {4, 1}}}, 4096) == "");
}

TEST_CASE("strides may transpose a tensor, leave gaps and repeat elements") {
  CHECK(describe({{"T", 0, 4, {3, 5}, {1, 3}}}, 4 * 7) == "tensor 'T' at element [1, 2] (byte offset 28)");
  const NamedTensor even = {"even", 0, 4, {4}, {2}}, odd = {"odd", 4, 4, {4}, {2}};
  CHECK(describe({even}, 12) == "tensor 'even' between its elements (byte offset 12)");
  // The tensor that has the element comes before one that reaches over it.
  CHECK(describe({even, odd}, 12) == "tensor 'odd' at element [1] (byte offset 8)");
  CHECK(describe({{"row", 0, 4, {9, 4}, {0, 1}}}, 8) == "tensor 'row' at element [0, 2] (byte offset 8)");
}

TEST_CASE("beyond a tensor one names the element that would be there") {
  const std::vector<NamedTensor> tensors = {
      {"X", 4096, 4, {8, 64}, {64, 1}}, {"T", 8192, 4, {3, 5}, {1, 3}}, {"even", 12000, 4, {4}, {2}}};
  const auto missed = [&](uint64_t begin, uint64_t end, uint64_t address) {
    return describeMissed(tensors, begin, end, address).value_or("");
  };
  CHECK(missed(4096, 6144, 6144 + 8) == "where tensor 'X' of shape [8, 64] would have element [8, 2]");
  CHECK(missed(4096, 6144, 4000) == "96 bytes before tensor 'X'");
  CHECK(missed(8192, 8252, 8252) == "where tensor 'T' of shape [3, 5] would have element [0, 5]");
  CHECK(missed(12000, 12028, 12036) == "where tensor 'even' of shape [4] has ended");
  // Of two in one allocation the one before the address.
  CHECK(missed(4096, 8252, 9000) == "where tensor 'T' of shape [3, 5] would have element [1, 67]");
  CHECK(missed(4096, 8252, 4000) == "96 bytes before tensor 'X'");
  CHECK(missed(0, 100, 104) == "");
}

TEST_CASE("memory of any elements has no positions") {
  const std::vector<NamedTensor> members = {{"X.of(0)", 4096, 100}, {"X.of(1)", 4196, 28}};
  CHECK(describe(members, 4196 - 4) == "tensor 'X.of(0)' (byte offset 96)");
  CHECK(describe(members, 4196) == "tensor 'X.of(1)' (byte offset 0)");
  CHECK(describe(members, 4224) == "");
  CHECK(describeMissed(members, 4096, 4224, 4230).value_or("") == "where tensor 'X.of(1)' has ended");
}

TEST_CASE("an address tells the tensor that it was computed from") {
  std::vector<NamedTensor> tensors = {{"X", 0x1000100, 4, {40, 128}, {128, 1}},
                                      {"one", 0x1000100, 2, {1, 8}, {8, 1}},
                                      {"padded", 0x1000100, 4, {4, 100}, {128, 1}},
                                      {"nibbles", 0x1000100, 1, {4, 8}, {8, 1}, 2}};
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].toKernels = tensorAddress(i, tensors[i].address);
  const auto outside = [&](size_t tensor, int64_t bytes) {
    const uint64_t address = tensors[tensor].toKernels + uint64_t(bytes);
    REQUIRE(tensorOf(tensors, address) == &tensors[tensor]);
    return describeOutside(tensors[tensor], address);
  };
  CHECK(tensors[0].toKernels % (1 << 20) == 0x100);
  CHECK(outside(0, 50 * 512 + 8) == "element [50, 2] of tensor 'X' of shape [40, 128]");
  CHECK(outside(0, -4) == "element [-1, 127] of tensor 'X' of shape [40, 128]");
  CHECK(outside(0, int64_t(3) << 35) == "element [201326592, 0] of tensor 'X' of shape [40, 128]");
  CHECK(outside(1, 33) == "element [2, 0] of tensor 'one' of shape [1, 8]");
  CHECK(outside(2, 512 + 440) == "element [1, 110] of tensor 'padded' of shape [4, 100]");
  CHECK(outside(3, 17) == "element [4, 2] of tensor 'nibbles' of shape [4, 8]");
  CHECK(tensorOf(tensors, 0x1000100) == nullptr);
}

TEST_CASE("gaps between elements are none of the tensor's") {
  const auto padded = ElementRuns::of({"X", 0, 4, {4, 100}, {128, 1}});
  REQUIRE(padded);
  CHECK(padded->bytesFrom(0) == 400);
  CHECK(padded->bytesFrom(512 + 396) == 4);
  CHECK(padded->bytesFrom(512 + 400) == 0);
  CHECK(padded->bytesFrom(3 * 512) == 400);
  CHECK(padded->bytesFrom(4 * 512) == 0);
  const auto strided = ElementRuns::of({"X", 0, 2, {8}, {3}});
  REQUIRE(strided);
  CHECK(strided->bytesFrom(6) == 2);
  CHECK(strided->bytesFrom(8) == 0);
  const auto inner = ElementRuns::of({"X", 0, 4, {3, 2, 8}, {32, 8, 1}}); // rows of 16 elements
  REQUIRE(inner);
  CHECK(inner->bytesFrom(128) == 64);
  CHECK(inner->bytesFrom(128 + 64) == 0);
  const auto swapped = ElementRuns::of({"X", 0, 4, {100, 4}, {1, 128}});
  REQUIRE(swapped);
  CHECK(swapped->bytesFrom(512) == 400);
  CHECK_FALSE(ElementRuns::of({"X", 0, 4, {4, 128}, {128, 1}}));
  CHECK_FALSE(ElementRuns::of({"X", 0, 4, {4, 128}, {0, 1}}));
  CHECK_FALSE(ElementRuns::of({"X", 0, 4, {3, 2}, {2, 3}})); // interleaved
  CHECK_FALSE(ElementRuns::of({"X", 0, 1, {4, 8}, {8, 1}, 2}));
}

TEST_CASE("accesses out of bounds name the tensor") {
  const auto messageOf = [](std::string body) {
    KernelText kernel = {.body = std::move(body), .threads = 1, .outWords = 255};
    kernel.outName = "X";
    return failure(kernel);
  };
  CHECK_THAT(messageOf("ld.global.b32 %r1, [%out+1036];"),
             Contains("allocation of 1020 bytes") &&
                 Contains(", where tensor 'X' of shape [255] would have element [259] ('ld.global.b32'"));
  CHECK_THAT(messageOf("ld.global.v2.b32 {%r1, %r2}, [%out+1016];"),
             Contains(", from tensor 'X' at element [254] (byte offset 1016) on"));
  CHECK_THAT(messageOf("ld.global.b32 %r1, [%out-8];"), Contains(", 8 bytes before tensor 'X'"));
}

TEST_CASE("races on global memory name the tensor and the element") {
  KernelText kernel = {.body = "setp.eq.u32 %p1, %t, 0; @%p1 st.global.b32 [%out+72], 7;", .blocks = 2};
  kernel.outName = "X";
  CHECK_THAT(check(kernel),
             Contains("race between the write of tensor 'X' at element [18] (byte offset 72) and the write"));
}
