// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where values come from: through registers, shared memory and other lanes' stores, back to a tensor.
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/emulator/math/TensorPlaces.h"
#include "runtime/emulator/origin/OriginSearch.h"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using Catch::Matchers::Contains;

namespace {

/// Lane t has in[t] in %f0, and its words of `out` and of shared memory in %mine and %place.
std::string moduleOf(const std::string &body) {
  return fmt::format(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in) {{
  .reg .b64 %out, %in, %mine, %source; .reg .b32 %t, %r<9>, %place; .reg .f32 %f<9>; .reg .pred %p<9>;
  .shared .align 16 .b8 s[128];
  .loc 1 1 1
  ld.param.u64 %out, [out]; ld.param.u64 %in, [in];
  mov.u32 %t, %tid.x; mad.wide.u32 %mine, %t, 4, %out; mad.wide.u32 %source, %t, 4, %in;
  mov.u32 %r0, s; mad.lo.u32 %place, %t, 4, %r0;
{}
  ret;
}}
.file 1 "k.cpp"
)",
                     body);
}

/// The steps for word `word` of `out`, where `in` has 0.5, 1.5, ...
std::vector<OriginStep> originsOf(const std::string &body, size_t word, size_t most = 20) {
  auto program = loadProgram(moduleOf(body));
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  OriginSearch search({"out", word * 4, 4}, most);
  for (int runs = 0; search.needsRun(); ++runs) {
    REQUIRE(runs < 10);
    std::vector<float> out(32, -1), in(32);
    for (size_t i = 0; i != in.size(); ++i)
      in[i] = 0.5f + float(i);
    std::vector<MemoryRange> ranges = (*program)->ranges;
    const std::array<uint64_t, 2> parameters = {uint64_t(out.data()), uint64_t(in.data())};
    for (uint64_t address : parameters)
      ranges.push_back({address, 128});
    const MemoryMap memory(std::move(ranges));
    const NamedTensor tensors[] = {{"out", parameters[0], 4, {32}, {1}}, {"in", parameters[1], 4, {32}, {1}}};
    const LaunchNames names;
    LaunchConfiguration launch{.entry = "k",
                               .block = {32, 1, 1},
                               .parameters = std::as_bytes(std::span(parameters)),
                               .tensors = tensors,
                               .names = &names};
    Machine machine;
    machine.target = findTarget("sm_80");
    machine.makeObserver = [&] { return search.observe(); };
    search.beginRun();
    const auto done = runGrid(**program, launch, memory, machine);
    INFO((done ? "" : done.error().message));
    REQUIRE(done);
    search.endRun();
  }
  return {search.steps().begin(), search.steps().end()};
}

std::string textOf(std::span<const OriginStep> steps) {
  std::string text;
  for (const OriginStep &step : steps)
    text += fmt::format("{} for {}: {}\n", step.site.location(), step.reader, step.text);
  return text;
}

} // namespace

TEST_CASE("an element's origin is its store, what computes it by line, and the loads") {
  const std::vector<OriginStep> steps = originsOf(R"(
  .loc 1 2 3
  ld.global.f32 %f0, [%source];
  .loc 1 3 3
  mul.f32 %f1, %f0, 0f40000000;
  .loc 1 4 3
  add.f32 %f2, %f1, %f0;
  .loc 1 5 3
  st.global.f32 [%mine], %f2;)",
                                                  3);
  INFO(textOf(steps));
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].site.line == 5);
  CHECK(steps[0].site.lane == 3u);
  CHECK(steps[0].text == "writes");
  CHECK(steps[0].element == TensorBytes{"out", 12, 4});
  CHECK(steps[0].bits == std::bit_cast<uint32_t>(10.5f));
  CHECK(steps[1].site.line == 4);
  CHECK(steps[1].text == "computes 10.5 (f32) from 7 (f32) of k.cpp:3:3, 3.5 (f32) of k.cpp:2:3");
  CHECK(steps[2].text == "computes 7 (f32) from 3.5 (f32) of k.cpp:2:3");
  CHECK(steps[3].site.line == 2);
  CHECK(steps[3].isRead);
  CHECK(steps[3].element == TensorBytes{"in", 12, 4});
  CHECK(steps[3].bits == std::bit_cast<uint32_t>(3.5f));
}

TEST_CASE("an origin goes through shared memory to the lane that wrote it") {
  const std::vector<OriginStep> steps = originsOf(R"(
  .loc 1 2 3
  ld.global.f32 %f0, [%source];
  st.shared.f32 [%place], %f0;
  bar.sync 0;
  .loc 1 3 3
  sub.u32 %r1, 31, %t; mad.lo.u32 %r2, %r1, 4, %r0;
  ld.shared.f32 %f1, [%r2];
  .loc 1 4 3
  st.global.f32 [%mine], %f1;)",
                                                  3);
  INFO(textOf(steps));
  REQUIRE(steps.size() == 4);
  CHECK_THAT(steps[1].text, Contains("reads 28.5 (f32) from shared"));
  CHECK(steps[1].site.lane == 3u);
  CHECK(steps[2].text == "writes 28.5 (f32)");
  CHECK(steps[2].site.lane == 28u);
  CHECK(steps[2].reader == 1);
  CHECK(steps[3].element == TensorBytes{"in", 28 * 4, 4});
}

TEST_CASE("an origin of the last of several writes, and of one element of a vector") {
  const std::vector<OriginStep> steps = originsOf(R"(
  .loc 1 2 3
  st.global.f32 [%mine], 0f3f800000;
  bar.sync 0;
  setp.eq.u32 %p0, %t, 0;
  .loc 1 3 3
  mov.f32 %f1, 0f40000000; mov.f32 %f2, 0f40400000; mov.f32 %f3, 0f40800000; mov.f32 %f4, 0f40a00000;
  @%p0 st.global.v4.f32 [%out], {%f1, %f2, %f3, %f4};)",
                                                  2);
  INFO(textOf(steps));
  REQUIRE(!steps.empty());
  CHECK(steps[0].site.line == 3);
  CHECK(steps[0].site.lane == 0u);
  CHECK(steps[0].bits == std::bit_cast<uint32_t>(4.0f));
}

TEST_CASE("an element that nothing writes has no origin, and steps have a limit") {
  const std::vector<OriginStep> none = originsOf("", 0);
  REQUIRE(none.size() == 1);
  CHECK(none[0].text == "nothing has written it");
  std::string chain = "ld.global.f32 %f0, [%source];\n";
  for (int line = 2; line != 40; ++line)
    chain += fmt::format(".loc 1 {} 3\nadd.f32 %f0, %f0, 0f3f800000;\n", line);
  CHECK(originsOf(chain + "st.global.f32 [%mine], %f0;", 0, 10).size() == 10);
}

TEST_CASE("places of a tensor copy in shared and in global memory are those of its elements") {
  for (Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128}) {
    // 20 rows of 48 u16 in 8 planes; the box overhangs the rows and begins before the planes.
    EmulatedTensorMap map;
    std::vector<uint16_t> tensor(size_t(8) * 20 * 48);
    for (size_t i = 0; i != tensor.size(); ++i)
      tensor[i] = uint16_t(i + 1);
    map.globalAddress = uint64_t(tensor.data());
    map.element = TensorElement::u16;
    map.rank = 3;
    map.dims = {48, 20, 8};
    map.strides = {96, 96 * 20};
    map.box = {16, 8, 4};
    map.swizzle = swizzle;
    const std::array<int32_t, 3> coordinates = {40, 16, -1};
    std::vector<std::byte> shared(size_t(1) << 15, std::byte{0xFF});
    constexpr uint32_t address = 1024;
    REQUIRE(loadBox(map, coordinates, shared, address));
    size_t inside = 0;
    for (size_t i = 0; i != tensor.size(); ++i) {
      const uint64_t global = map.globalAddress + 2 * i;
      const auto place = sharedPlaceOf(map, coordinates, BoxUse::load, address, global);
      const size_t column = i % 48, row = i / 48 % 20, plane = i / 48 / 20;
      REQUIRE(place.has_value() == (column >= 40 && row >= 16 && plane < 3));
      if (!place)
        continue;
      ++inside;
      uint16_t value;
      std::memcpy(&value, &shared[*place], sizeof(value));
      CHECK(value == tensor[i]);
      CHECK(globalPlaceOf(map, coordinates, BoxUse::load, address, *place) == global);
    }
    CHECK(inside == size_t(8) * 4 * 3);
    // What is filled is nowhere in the tensor.
    CHECK(!globalPlaceOf(map, coordinates, BoxUse::load, address, address));
  }
}
