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
