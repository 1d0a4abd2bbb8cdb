// SPDX-License-Identifier: Apache-2.0
/// \file
/// Structs of arguments as C lays them out.
#include "runtime/aot/Arguments.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace tlc;
using namespace tlc::aot;

namespace {

Artifact artifact() {
  return {.name = "k",
          .target = "sm_90a",
          .dimensions = {{.name = "m"}, {.name = "n"}},
          .tensors = {{.name = "A", .element = ElementType::f32, .shape = {{0}, {1}}},
                      {.name = "s", .element = ElementType::i32},
                      {.name = "W",
                       .element = ElementType::f32,
                       .access = Access::workspace,
                       .workspaceShape = {HostExpr::dimension(0)}}},
          .scalars = {{"byte", ElementType::i8},
                      {"half", ElementType::f16},
                      {"wide", ElementType::f64},
                      {"last", ElementType::i8}}};
}

struct Given {
  struct {
    const float *data;
    int64_t shape[2], strides[2];
  } A;
  struct {
    const int32_t *data;
  } s;
  int8_t byte;
  uint16_t half;
  double wide;
  int8_t last;
  void *workspace;
  size_t workspaceBytes;
};

} // namespace

TEST_CASE("members are where C has them", "[aot][unit]") {
  float a = 0;
  int32_t s = 0;
  char memory = 0;
  Given given = {{&a, {3, 5}, {8, 1}}, {&s}, -2, 0x3c00, 2.5, 7, &memory, 99};
  const ArgumentLayout layout(artifact());
  const LaunchArguments read = layout.read(artifact(), &given);
  REQUIRE(read.tensors.size() == 2);
  CHECK(read.tensors[0].data == &a);
  CHECK(read.tensors[0].shape == std::vector<int64_t>{3, 5});
  CHECK(read.tensors[0].strides == std::vector<int64_t>{8, 1});
  CHECK(read.tensors[1].data == &s);
  REQUIRE(read.scalars.size() == 4);
  CHECK(read.scalars[0].bits == 0xfe);
  CHECK(read.scalars[1].bits == 0x3c00);
  double wide = 0;
  std::memcpy(&wide, &read.scalars[2].bits, sizeof(wide));
  CHECK(wide == 2.5);
  CHECK(read.scalars[3].bits == 7);
  CHECK(layout.workspace(&given).address == &memory);
  CHECK(layout.workspace(&given).bytes == 99);
}

TEST_CASE("strides of zeros are those of a contiguous tensor", "[aot][unit]") {
  const ArgumentLayout layout(artifact());
  Given given = {};
  given.A.shape[0] = 3, given.A.shape[1] = 5;
  const LaunchArguments read = layout.read(artifact(), &given);
  CHECK(read.tensors[0].strides == std::vector<int64_t>{5, 1});
  CHECK(layout.fits(read, &given));
  given.A.strides[0] = 5, given.A.strides[1] = 1;
  CHECK(layout.fits(read, &given));
  given.A.strides[0] = 6;
  CHECK_FALSE(layout.fits(read, &given));
  given.A.strides[0] = 5;
  given.A.data = reinterpret_cast<const float *>(uintptr_t(64)); // addresses do not matter
  CHECK(layout.fits(read, &given));
  given.A.shape[0] = 4;
  CHECK_FALSE(layout.fits(read, &given));
  given.A.shape[0] = 3;
  given.last = 1;
  CHECK_FALSE(layout.fits(read, &given));
}

TEST_CASE("workspaces follow one another at multiples of 256", "[aot][unit]") {
  std::vector<WorkspaceRequest> requests(3);
  requests[0].bytes = 1, requests[1].bytes = 300;
  const WorkspaceBlock block = *WorkspaceBlock::of(requests);
  CHECK(block.offsets == std::vector<size_t>{0, 256, 768});
  CHECK(block.bytes == 768);
}

TEST_CASE("workspaces that exceed the address space are an error", "[aot][unit]") {
  std::vector<WorkspaceRequest> requests(2);
  requests[0].bytes = 1, requests[1].bytes = WorkspaceBlock::mostBytes - 256;
  CHECK(WorkspaceBlock::of(requests)->bytes == WorkspaceBlock::mostBytes);
  ++requests[1].bytes, requests[1].name = "W";
  const Result<WorkspaceBlock> block = WorkspaceBlock::of(requests);
  REQUIRE_FALSE(block);
  CHECK(block.error().message ==
        "workspace 'W': expected workspaces of at most 9223372036854775552 bytes together, but it takes "
        "9223372036854775297 after 256; use smaller extents");
}
