// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker on reads of what nothing has written: global memory, of the
/// host's and kernels' making.
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/check/WrittenBytes.h"
#include "runtime/emulator/math/TensorMap.h"
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>
#include <random>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// What is found where the host wrote the first `written` words of `out`.
Findings check(const std::string &body, size_t written, uint32_t threads = 32) {
  return run({.body = body, .threads = threads, .writtenWords = written, .raceCheck = RaceCheck::strict})
      .findings;
}

/// The memory of the only finding, which is of that kind; empty: there is none.
std::string unwritten(const std::string &body, size_t written) {
  const Findings findings = check(body, written);
  if (findings.empty())
    return "";
  INFO(findings.text());
  REQUIRE(findings.all().size() == 1);
  CHECK(findings.all()[0].kind == FindingKind::unwritten);
  CHECK_THAT(findings.all()[0].message, Contains("which nothing has written; missing: "));
  const std::string &memory = findings.all()[0].memory;
  return memory.substr(0, memory.find(" of"));
}

const std::string copyIn = R"(
  .shared .align 8 .b64 bar; .shared .align 128 .b8 s[4096]; .reg .b64 %s, %bar;
  mov.b64 %s, s; mov.b64 %bar, bar; setp.eq.u32 %p1, %t, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
)";
const std::string waitCopy = "$wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;";

} // namespace

TEST_CASE("written bytes are what was marked, at any offset") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  constexpr uint64_t bytes = 500;
  std::vector<bool> model(bytes), copied(bytes);
  const auto written = WrittenBytes::create(bytes), other = WrittenBytes::create(bytes);
  const auto first = [](const std::vector<bool> &of, uint64_t from,
                        uint64_t count) -> std::optional<uint64_t> {
    for (uint64_t i = from; i < from + count; ++i)
      if (!of[i])
        return i;
    return std::nullopt;
  };
  for (int i = 0; i < 300; ++i) {
    const uint64_t offset = random() % bytes, count = random() % std::min<uint64_t>(bytes - offset + 1, 140);
    CAPTURE(offset, count);
    CHECK(written->firstUnwritten(offset, count) == first(model, offset, count));
    if (i % 4 == 0) {
      written->mark(offset, count);
      std::fill_n(model.begin() + ptrdiff_t(offset), count, true);
    }
    const uint64_t to = random() % (bytes - count + 1);
    other->copy(to, *written, offset, count);
    std::copy_n(model.begin() + ptrdiff_t(offset), count, copied.begin() + ptrdiff_t(to));
    for (uint64_t at = 0; at < bytes; ++at)
      REQUIRE(!other->firstUnwritten(at, 1) == copied[at]);
  }
}

TEST_CASE("a load of global memory that nothing has written is found") {
  CHECK(unwritten("ld.global.b32 %r1, [%mine];", 32) == "");
  CHECK(unwritten("ld.global.b32 %r1, [%mine];", 31) == "offset 124");
  CHECK(unwritten("ld.global.v2.b32 {%r1, %r2}, [%out+8];", 3) == "offset 12");
  CHECK(unwritten("ld.global.nc.b32 %r1, [%out];", 0) == "offset 0");
  CHECK(unwritten("ld.acquire.gpu.global.b32 %r1, [%out];", 0) == "offset 0");
  CHECK(unwritten("prefetch.global.L2 [%out];", 0) == "");
  const Findings findings = check("ld.global.b32 %r1, [%mine];", 20);
  REQUIRE(findings.all().size() == 1);
  CHECK(findings.all()[0].site.what == "read");
  CHECK(findings.all()[0].site.lane == 20u);
  CHECK(findings.all()[0].missing == "a write by the host or a kernel");
  CHECK_THAT(findings.text(), Contains("read of offset 80 of the allocation of 1024 bytes"));
}

TEST_CASE("what a kernel has written it may read, to the byte") {
  CHECK(unwritten("st.global.b32 [%mine], %t; ld.global.b32 %r1, [%mine];", 0) == "");
  CHECK(unwritten("setp.eq.u32 %p1, %t, 0; mov.b16 %h1, 1; @%p1 st.global.b8 [%out+2], %h1;"
                  "@%p1 ld.global.b8 %h2, [%out+2]; @%p1 ld.global.b16 %h3, [%out+2];",
                  0) == "offset 3");
  CHECK(unwritten("st.global.b32 [%mine], %t; bar.warp.sync -1; ld.global.b32 %r1, [%out+128];", 0) ==
        "offset 128");
}

TEST_CASE("an atomic reads what it changes") {
  CHECK(unwritten("red.global.add.u32 [%out], 1;", 0) == "offset 0");
  CHECK(unwritten("red.global.add.u32 [%out], 1;", 1) == "");
  CHECK(unwritten("atom.global.cas.b32 %r1, [%mine], 0, 1;", 31) == "offset 124");
}

TEST_CASE("a read that an unordered write comes after is a race, not unwritten") {
  // Warp 0 runs first. Word 0 is warp 1's, which writes it without an order; nobody writes word 9.
  const auto races = [](const std::string &text, const std::string &words, size_t all = 1) {
    const Findings findings = check(text + "$end:", 0, 64);
    INFO(findings.text());
    REQUIRE(findings.all().size() == all);
    CHECK(findings.all()[0].kind == FindingKind::race);
    CHECK_THAT(findings.all()[0].message, Contains(words));
  };
  const std::string roles = "setp.eq.u32 %p1, %t, 0; setp.eq.u32 %p2, %t, 32;",
                    missing = "missing: a barrier or mbarrier at which warp 0 waits for warp 1";
  races(roles + "@%p1 ld.global.b32 %r1, [%out]; @%p2 st.global.b32 [%out], 1;", missing);
  races(roles + ".shared .align 4 .b8 s[64]; @%p1 ld.shared.b32 %r1, [s]; @%p2 st.shared.b32 [s], 1;",
        missing);
  // However often it is read, and by how many instructions.
  races(roles +
            "@%p1 ld.global.b32 %r1, [%out]; @%p1 ld.global.b32 %r2, [%out]; @%p2 st.global.b32 [%out], 1;",
        missing);
  // By a thread of the same warp.
  races("setp.eq.u32 %p1, %t, 0; setp.eq.u32 %p2, %t, 1; .shared .align 4 .b8 s[64];"
        "@%p1 ld.shared.b32 %r1, [s]; @%p2 st.shared.b32 [s], 1;",
        "missing: bar.warp.sync in warp 0 between them");
  // A write that is ordered does not excuse the read, nor one by the thread itself, nor one elsewhere.
  const auto stays = [](const std::string &text, size_t all = 1) {
    const Findings findings = check(text + "$end:", 0, 64);
    INFO(findings.text());
    REQUIRE(findings.all().size() == all);
    CHECK(findings.all()[0].kind == FindingKind::unwritten);
  };
  stays(roles + "@%p1 ld.global.b32 %r1, [%out]; bar.sync 0; @%p2 st.global.b32 [%out], 1;");
  stays(roles +
        ".shared .align 4 .b8 s[64]; @%p1 ld.shared.b32 %r1, [s]; bar.sync 0; @%p2 st.shared.b32 [s], 1;");
  stays(roles + "@%p1 ld.global.b32 %r1, [%out]; @%p1 st.global.b32 [%out], 1;");
  stays(roles + "@%p1 ld.global.b32 %r1, [%out+36]; @%p2 st.global.b32 [%out], 1;");
  stays(
      roles +
          "@%p1 ld.global.b32 %r1, [%out+36];\n@%p1 ld.global.b32 %r1, [%out]; @%p2 st.global.b32 [%out], 1;",
      2);
}

TEST_CASE("so it is between blocks") {
  const Outcome outcome = run({.body = R"(
    mov.u32 %r9, %ctaid.x; setp.eq.u32 %p1, %t, 0; setp.eq.u32 %p2, %r9, 0; and.pred %p3, %p1, %p2;
    not.pred %p2, %p2; and.pred %p4, %p1, %p2;
    @%p3 ld.global.b32 %r1, [%out]; @%p4 st.global.b32 [%out], 1;
)",
                               .blocks = 2,
                               .writtenWords = 0,
                               .raceCheck = RaceCheck::strict,
                               .scheduleSeed = 0});
  INFO(outcome.findings.text());
  REQUIRE(outcome.findings.all().size() == 1);
  CHECK(outcome.findings.all()[0].kind == FindingKind::race);
}

TEST_CASE("without the checker nothing is said") {
  CHECK(failure({.body = "ld.global.b32 %r1, [%mine];", .writtenWords = 0}) == "");
}

TEST_CASE("copies read and write global memory") {
  const std::string bulk =
      copyIn +
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%out], 256, [%bar];" +
      waitCopy;
  CHECK(unwritten(bulk, 64) == "");
  CHECK(unwritten(bulk, 63) == "offset 252");
  const std::string single = copyIn +
                             "mad.wide.u32 %d1, %t, 4, %s; cp.async.ca.shared.global [%d1], [%mine], 4;"
                             "cp.async.wait_all;";
  CHECK(unwritten(single, 32) == "");
  CHECK(unwritten(single, 5) == "offset 20");
  // No byte of it is read.
  CHECK(unwritten(copyIn + "mad.wide.u32 %d1, %t, 4, %s; cp.async.ca.shared.global [%d1], [%mine], 4, 0;"
                           "cp.async.wait_all;",
                  0) == "");
  const std::string out = copyIn + R"(
    mad.wide.u32 %d1, %t, 4, %s; st.shared.b32 [%d1], %t; fence.proxy.async; bar.sync 0;
    @!%p1 bra $end;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 128;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    ld.global.b32 %r1, [%out+)";
  CHECK(unwritten(out + "124]; $end:", 0) == "");
  CHECK(unwritten(out + "128]; $end:", 0) == "offset 128");
}

TEST_CASE("a box of a tensor reads its elements, not what lies beyond or between them") {
  // 6 rows of 8 words, 12 words from one to the next; the box is 8 by 8 from row 2 on.
  const auto found = [](size_t missing) {
    std::vector<uint32_t> in(128, 1);
    const auto written = WrittenBytes::create(in.size() * 4);
    for (size_t row = 0; row < 6; ++row)
      for (size_t column = 0; column < 8; ++column)
        if (row * 8 + column != missing)
          written->mark((row * 12 + column) * 4, 4);
    EmulatedTensorMap map;
    map.globalAddress = reinterpret_cast<uint64_t>(in.data());
    map.element = TensorElement::u32;
    map.rank = 2;
    map.dims = {8, 6};
    map.strides = {48};
    map.box = {8, 8};
    REQUIRE(checkTensorMap(map));
    const auto parameters = encodeTensorMap(map);
    auto program = loadProgram(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 a[128]) {
  .reg .b64 %map; .reg .b32 %t; .reg .pred %p<10>;
  mov.b64 %map, a; cvta.param.u64 %map, %map; mov.u32 %t, %tid.x;
)" + copyIn + R"(
  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%map, {0, 2}], [%bar];
)" + waitCopy + "ret; }");
    INFO((program ? "" : program.error().message));
    REQUIRE(program);
    const MemoryMap memory({{reinterpret_cast<uint64_t>(in.data()), in.size() * 4, 0, true, written.get()}});
    LaunchConfiguration launch;
    launch.entry = "k";
    launch.block = {32, 1, 1};
    launch.parameters = parameters;
    Findings findings;
    Machine machine;
    machine.target = findTarget("sm_90a");
    machine.makeObserver = observeRaces(RaceCheck::on);
    machine.findings = &findings;
    const auto done = runGrid(**program, launch, memory, machine);
    return done ? std::string() : done.error().message;
  };
  CHECK(found(1000) == "");
  CHECK(found(1) == ""); // in a row before the box
  CHECK_THAT(found(2 * 8 + 3), Contains("asynchronous read of offset 108 of the allocation of 512 bytes"));
}

TEST_CASE("a device knows what the host wrote, also by a copy from another device") {
  Artifact artifact;
  artifact.name = "first";
  artifact.target = "sm_90a";
  artifact.dimensions.push_back({.name = "n"});
  TensorArgument x;
  x.name = "x";
  x.shape = {{.dimension = 0}};
  artifact.tensors = {x};
  Launch once;
  once.entry = "first";
  once.grid = {HostExpr::constant(1), HostExpr::constant(1), HostExpr::constant(1)};
  once.threads = 32;
  once.parameters = {{KernelParameter::Kind::tensorPointer, 0, 0}};
  Variant variant;
  variant.name = "general";
  variant.launches = {once};
  variant.ptx = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry first(.param .u64 x) {
  .reg .b32 %r<3>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1; ld.global.b32 %r2, [%d2];
  ret;
})";
  artifact.variants = {variant};
  const auto launch = [&](Device &device, void *memory) {
    auto program = device.load(artifact);
    REQUIRE(program);
    LaunchArguments arguments;
    arguments.tensors = {{memory, ElementType::f32, {32}, {1}}};
    Result<void> done = device.launch(**program, arguments);
    if (done)
      done = device.synchronize();
    return done ? std::string() : done.error().message;
  };
  const std::vector<float> host(32);
  for (const RaceCheck raceCheck : {RaceCheck::on, RaceCheck::off}) {
    const auto devices = createEmulatorDevices(2, {.hostThreads = 1, .raceCheck = raceCheck});
    void *first = *devices[0]->allocate(128), *second = *devices[1]->allocate(128);
    REQUIRE(devices[0]->copyToDevice(first, host.data(), 64));
    REQUIRE(devices[1]->copyFromPeer(second, *devices[0], first, 128));
    for (const auto &[device, memory] : {std::pair(&*devices[0], first), {&*devices[1], second}})
      if (raceCheck == RaceCheck::on)
        CHECK_THAT(launch(*device, memory),
                   Contains("read of tensor 'x' at element [16] (byte offset 64)") && Contains("lane 16"));
      else
        CHECK(launch(*device, memory) == "");
    REQUIRE(devices[0]->copyToDevice(static_cast<std::byte *>(first) + 64, host.data(), 64));
    CHECK(launch(*devices[0], first) == "");
    REQUIRE(devices[1]->copyFromPeer(second, *devices[0], first, 128));
    CHECK(launch(*devices[1], second) == "");
  }
}
