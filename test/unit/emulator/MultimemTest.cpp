// SPDX-License-Identifier: Apache-2.0
/// \file
/// multimem: what reaches the memory of several devices by one address.
#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/exec/launch/Grid.h"
#include "runtime/emulator/math/Float.h"
#include "test/Expect.h"
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <numeric>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

constexpr size_t words = 64;

/// Arrays of so many devices, and one of the kernel's own.
struct Devices {
  explicit Devices(size_t count) : members(count, std::vector<uint32_t>(words)), out(words, 0xDDDDDDDD) {}

  /// Runs a body of one warp with %all, the address of all arrays, %own, that of the first one, %out, %t, the
  /// thread, and registers %r0-9, %d0-9, %h0-9.
  Result<void> run(std::string_view body, uint64_t bytes = words * 4, RaceCheck check = RaceCheck::on) {
    Result<std::shared_ptr<const Program>> program = loadProgram(fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 all, .param .u64 out, .param .u64 own) {{
  .reg .b32 %r<10>; .reg .b64 %d<10>; .reg .b16 %h<10>; .reg .b64 %all, %out, %mine, %here, %own; .reg .b32 %t; .reg .pred %p0;
  ld.param.u64 %all, [all];
  ld.param.u64 %out, [out];
  ld.param.u64 %own, [own];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %mine, %t, 4, %out;
  mad.wide.u32 %here, %t, 4, %all;
{}
  ret;
}}
)",
                                                                             body));
    if (!program)
      return program.error();
    std::vector<MemoryRange> ranges = (*program)->ranges;
    MulticastRange all{.address = windowBase(Window::multicast), .bytes = bytes};
    for (std::vector<uint32_t> &member : members) {
      ranges.push_back({reinterpret_cast<uint64_t>(member.data()), member.size() * 4});
      all.members.push_back(ranges.back().address);
    }
    ranges.push_back({reinterpret_cast<uint64_t>(out.data()), out.size() * 4});
    const std::array<uint64_t, 3> parameters = {all.address, ranges.back().address, all.members.front()};
    const MemoryMap memory(std::move(ranges), {all});
    LaunchConfiguration launch;
    launch.entry = "k";
    launch.block = {threads, 1, 1};
    launch.parameters = std::as_bytes(std::span(parameters));
    Machine machine;
    machine.target = findTarget("sm_90a");
    machine.makeObserver = observeRaces(check);
    auto done = runGrid(**program, launch, memory, machine);
    return done ? Result<void>() : done.error();
  }

  std::vector<std::vector<uint32_t>> members;
  std::vector<uint32_t> out;
  uint32_t threads = 32;
};

void expectRun(Devices &devices, std::string_view body) { tlc::test::expectSuccess(devices.run(body)); }
std::string errorOf(Devices &devices, std::string_view body, uint64_t bytes = words * 4) {
  Result<void> done = devices.run(body, bytes);
  return done ? "" : done.error().message;
}

} // namespace

TEST_CASE("multimem.st writes to all devices", "[multimem]") {
  Devices devices(3);
  expectRun(devices, "  add.u32 %r0, %t, 7;\n  multimem.st.relaxed.sys.global.b32 [%here+4], %r0;");
  for (const std::vector<uint32_t> &member : devices.members) {
    CHECK(member[0] == 0);
    for (uint32_t i = 0; i < 32; ++i)
      CHECK(member[i + 1] == i + 7);
  }
}

TEST_CASE("multimem.ld_reduce combines what the devices have", "[multimem]") {
  Devices devices(3);
  for (uint32_t i = 0; i < words; ++i)
    for (size_t d = 0; d < 3; ++d)
      devices.members[d][i] = i * uint32_t(d + 1);
  auto combined = [&](std::string_view operation) {
    expectRun(devices, fmt::format("  multimem.ld_reduce.weak.global.{} %r0, [%here];\n"
                                   "  st.global.b32 [%mine], %r0;",
                                   operation));
    return devices.out;
  };
  const std::vector<uint32_t> sums = combined("add.u32"), least = combined("min.s32"),
                              most = combined("max.u32"), all = combined("and.b32"), any = combined("or.b32"),
                              odd = combined("xor.b32");
  for (uint32_t i = 0; i < 32; ++i) {
    CHECK(sums[i] == 6 * i);
    CHECK(least[i] == i);
    CHECK(most[i] == 3 * i);
    CHECK(all[i] == (i & 2 * i & 3 * i));
    CHECK(any[i] == (i | 2 * i | 3 * i));
    CHECK(odd[i] == (i ^ 2 * i ^ 3 * i));
  }
}

TEST_CASE("sums of floats by multimem.ld_reduce, as vectors and in f32", "[multimem]") {
  Devices devices(3);
  devices.threads = 1;
  for (size_t d = 0; d < 3; ++d)
    for (uint32_t i = 0; i < 4; ++i)
      devices.members[d][i] = bits(float(i) + 0.25F * float(d));
  expectRun(devices, R"(  multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%r0, %r1, %r2, %r3}, [%all];
  st.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};)");
  for (uint32_t i = 0; i < 4; ++i)
    CHECK(devices.out[i] == bits(3 * float(i) + 0.75F));
  // 1, and twice what is half of the last place of 1 in bf16.
  auto pair = [](double value) { return uint32_t(fromDouble(FloatFormat::bf16, value)) * 0x10001; };
  devices.members[0][0] = pair(1), devices.members[1][0] = devices.members[2][0] = pair(0x1p-8);
  auto sum = [&](std::string_view accumulates) {
    expectRun(devices, fmt::format("  multimem.ld_reduce.relaxed.sys.global.add{}.bf16x2 %r0, [%all];\n"
                                   "  st.global.b32 [%out], %r0;",
                                   accumulates));
    return devices.out[0];
  };
  CHECK(sum("") == pair(1));                   // each sum is rounded to even
  CHECK(sum(".acc::f32") == pair(1 + 0x1p-7)); // one sum is
}

TEST_CASE("multimem.red adds to all devices, with other threads at the same time", "[multimem]") {
  Devices devices(2);
  devices.members[1][0] = 100;
  expectRun(devices, "  multimem.red.relaxed.sys.global.add.u32 [%all], %t;");
  CHECK(devices.members[0][0] == 31 * 16);
  CHECK(devices.members[1][0] == 100 + 31 * 16);
}

TEST_CASE("the checkers see each device's access", "[multimem]") {
  Devices devices(2);
  devices.threads = 64;
  const std::string race = errorOf(devices, R"(  and.b32 %r0, %t, 31;
  mad.wide.u32 %d0, %r0, 4, %all;
  multimem.st.weak.global.b32 [%d0], %t;)");
  CHECK_THAT(race, Contains("race between the write of offset 0") &&
                       Contains("missing: different addresses for two writes of one store"));
}

TEST_CASE("accesses by both addresses of memory need a fence between them", "[multimem]") {
  const std::string_view own = "  st.global.b32 [%own], %t;\n", read = "  ld.global.b32 %r1, [%own];\n",
                         all = "  multimem.st.weak.global.b32 [%all], %t;\n",
                         sum = "  multimem.ld_reduce.weak.global.add.u32 %r0, [%all];\n";
  const std::pair<std::string_view, std::string_view> pairs[] = {{own, sum}, {own, all}, {all, read},
                                                                 {all, own}, {sum, own}, {read, all}};
  for (auto [first, second] : pairs) {
    INFO(first << second);
    Devices devices(2);
    devices.threads = 1;
    CHECK_THAT(errorOf(devices, std::string(first) + std::string(second)),
               Contains("missing: fence.proxy.alias between them") &&
                   Contains("because one of them has a multicast address"));
    CHECK(errorOf(devices, std::string(first) + "  fence.proxy.alias;\n" + std::string(second)) == "");
  }
}

TEST_CASE("asynchronous copies come after multimem by a fence of each proxy", "[multimem]") {
  auto copied = [](std::string_view fences) {
    return fmt::format(R"(  .shared .align 16 .b8 tile[16];
  .shared .b64 bar;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  multimem.st.weak.global.b32 [%all], %t;
{}
  mbarrier.arrive.expect_tx.shared.b64 %d0, [bar], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%own], 16, [bar];
waits:
  mbarrier.try_wait.shared.b64 %p0, [bar], %d0;
  @!%p0 bra waits;)",
                       fences);
  };
  auto failure = [&](std::string_view fences) {
    Devices devices(2);
    devices.threads = 1;
    return errorOf(devices, copied(fences));
  };
  CHECK_THAT(failure("  fence.proxy.alias;"), Contains("fence.proxy.async"));
  CHECK_THAT(failure("  fence.proxy.async;"), Contains("fence.proxy.alias and fence.proxy.async"));
  CHECK(failure("  fence.proxy.alias;\n  fence.proxy.async;") == "");
}

TEST_CASE("an address of several devices is that of multimem instructions alone", "[multimem]") {
  Devices devices(2);
  const std::string_view only = "multicast memory, which multimem instructions alone access";
  CHECK_THAT(errorOf(devices, "  ld.global.b32 %r0, [%here];"), Contains(std::string(only)));
  CHECK_THAT(errorOf(devices, "  ld.b32 %r0, [%here];"), Contains(std::string(only)));
  CHECK_THAT(errorOf(devices, "  multimem.st.weak.global.b32 [%mine], %t;"),
             Contains("out-of-bounds access of 4 bytes by lane 0 at address 0x") &&
                 Contains("where no multicast memory is"));
  CHECK_THAT(errorOf(devices, "  multimem.st.weak.global.b32 [%here], %t;", 66),
             Contains("out-of-bounds access of 4 bytes by lane 16 at address 0x100000000000040"));
  CHECK_THAT(errorOf(devices, "  multimem.st.weak.global.b32 [%here+2], %t;"),
             Contains("must be a multiple of 4"));
}

TEST_CASE("forms of multimem that PTX does not have", "[multimem]") {
  Devices devices(2);
  CHECK_THAT(errorOf(devices, "  multimem.relaxed.sys.global.add.u32 %r0, [%all];"),
             Contains("is neither ld_reduce, st nor red"));
  CHECK_THAT(errorOf(devices, "  multimem.ld_reduce.relaxed.sys.global.u32 %r0, [%all];"),
             Contains("lacks an operation"));
  CHECK_THAT(errorOf(devices, "  multimem.ld_reduce.relaxed.sys.global.min.f32 %r0, [%all];"),
             Contains("has no form for type .f32"));
  CHECK_THAT(errorOf(devices, "  multimem.ld_reduce.relaxed.sys.global.add.acc::f32.u64 %d0, [%all];"),
             Contains("has no form for type .u64"));
  CHECK_THAT(errorOf(devices, "  multimem.st.weak.shared.b32 [%r0], %t;"),
             Contains("accesses another space than .global"));
  CHECK_THAT(errorOf(devices, "  multimem.ld_reduce.weak.global.add.v2.f32 %r0, [%all];"),
             Contains("moves 2 elements, but got 1 registers"));
  CHECK_THAT(
      errorOf(devices, "  multimem.st.weak.global.v8.f32 [%all], {%r0, %r0, %r0, %r0, %r0, %r0, %r0, %r0};"),
      Contains("accesses 32 bytes, but multimem 4 to 16"));
  CHECK_THAT(errorOf(devices, "  multimem.ld_reduce.weak.global.add.acc::f32.bf16 %h0, [%all];"),
             Contains("accesses 2 bytes, but multimem 4 to 16"));
  CHECK_THAT(errorOf(devices, "  multimem.red.relaxed.sys.global.add.s64 [%all], %d0;"),
             Contains("has no form for type .s64"));
}
