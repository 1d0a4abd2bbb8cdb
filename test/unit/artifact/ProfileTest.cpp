// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a profiled kernel has written, as the host reads it.
#include "runtime/artifact/Profile.h"

#include "test/Expect.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace tlc;

namespace {

/// Two blocks of two warps with two records each.
struct Buffer {
  Launch launch = {.entry = "k",
                   .threads = 64,
                   .cluster = {2, 1, 1},
                   .names = {.marks = {{ProfileMark::Kind::wait, "products", "a.cpp:1:2"},
                                       {ProfileMark::Kind::mbarrier, "", ""}}}};
  ProfileWarp warps[4] = {{1000, 3000, 100, 900, 0, 7},
                          {1000, 2000, 110, 500, 2, 7},
                          {1500, 2500, 50, 60, 4, 9},
                          {1400, 2400, 40, 70, 6, 9}};
  ProfileRecord records[8] = {};

  Result<std::vector<BlockProfile>> read() const {
    std::vector<std::byte> bytes(sizeof(warps) + sizeof(records));
    std::memcpy(bytes.data(), warps, sizeof(warps));
    std::memcpy(bytes.data() + sizeof(warps), records, sizeof(records));
    return readProfile(launch, bytes);
  }
  std::string error() const {
    Result<std::vector<BlockProfile>> read = this->read();
    REQUIRE_FALSE(read);
    return read.error().message;
  }
};

} // namespace

TEST_CASE("records of warps are counted from the first warp of their block", "[artifact][profile]") {
  Buffer buffer;
  buffer.warps[0].position = 1;
  buffer.records[0] = {200, 300, 1, 16};
  const std::vector<BlockProfile> blocks = test::expectValue(buffer.read());
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].multiprocessor == 7);
  CHECK(blocks[0].beginTime == 1000);
  CHECK(blocks[0].endTime == 3000);
  CHECK(blocks[0].cycles() == 800);
  REQUIRE(blocks[0].warps[0].records.size() == 1);
  CHECK(blocks[0].warps[0].records[0].begin == 100);
  CHECK(blocks[0].warps[0].records[0].end == 200);
  CHECK(blocks[0].warps[0].records[0].object == 16);
  CHECK(blocks[0].warps[1].begin == 10);
  CHECK(blocks[0].warps[1].records.empty());
  CHECK(blocks[1].beginTime == 1400);
  CHECK(blocks[1].warps[0].begin == 10);
  CHECK(blocks[1].cycles() == 30);
}

TEST_CASE("clocks of 32 bits that start again are counted on", "[artifact][profile]") {
  Buffer buffer;
  buffer.warps[0] = {1000, 3000, 0xffffff00, 0x300, 2 | profileStopped, 7};
  buffer.warps[1] = {1000, 3000, 0xffffff80, 0x200, 2, 7};
  buffer.records[0] = {0xfffffff0, 0x10, 0, 0};
  buffer.records[1] = {0x20, 0x30, 0, 0};
  const std::vector<BlockProfile> blocks = test::expectValue(buffer.read());
  CHECK(blocks[0].warps[0].records[0].begin == 0xf0);
  CHECK(blocks[0].warps[0].records[0].end == 0x110);
  CHECK(blocks[0].warps[0].records[1].end == 0x130);
  CHECK(blocks[0].cycles() == 0x400);
}

TEST_CASE("records without room are counted", "[artifact][profile]") {
  Buffer buffer;
  buffer.warps[0].position = 5 | profileStopped; // two records, and three more
  buffer.warps[3].position = 8 | profileStopped; // exactly two
  const std::vector<BlockProfile> blocks = test::expectValue(buffer.read());
  CHECK(blocks[0].warps[0].records.size() == 2);
  CHECK(blocks[0].warps[0].lost == 3);
  CHECK(blocks[1].warps[1].records.size() == 2);
  CHECK(blocks[1].warps[1].lost == 0);
}

TEST_CASE("a buffer of no whole launch is an error", "[artifact][profile]") {
  Buffer buffer;
  buffer.warps[1].beginTime = 0;
  CHECK(buffer.error() ==
        "the profile of 'k': warp 1 of block 0 of the cluster has not begun; the launch has not been "
        "made, or it broke off");
  buffer = {};
  buffer.warps[2].endTime = 0;
  CHECK(buffer.error() ==
        "the profile of 'k': warp 0 of block 1 of the cluster has not ended; the launch has not been "
        "made, or it broke off");
  buffer = {};
  buffer.warps[0].position = 1;
  buffer.records[0].mark = 2;
  CHECK(buffer.error() == "the profile of 'k': record 0 of warp 0 names mark 2, but there are 2");
  buffer = {};
  buffer.warps[1].position = 4;
  CHECK(buffer.error() ==
        "the profile of 'k': warp 1 of block 0 of the cluster is at record 4, which is not one of its 2");
  const std::byte bytes[100] = {};
  Result<std::vector<BlockProfile>> read = readProfile(buffer.launch, bytes);
  REQUIRE_FALSE(read);
  CHECK(read.error().message ==
        "the profile of 'k': expected a header of each of 4 warps, but got 100 bytes");
}
