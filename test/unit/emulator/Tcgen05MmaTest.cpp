// SPDX-License-Identifier: Apache-2.0
/// \file
/// What single threads issue to tensor memory: the forms of tcgen05.mma, cp,
/// shift and commit as the emulator runs them. What a product is, is tested
/// with the function itself.
#include "test/unit/emulator/Tcgen05Text.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

constexpr unsigned columns = 128;

/// A and B: 16 KB of bf16, all 1 and all 2, then a KB of words that count up.
/// %d11 and %d12 are descriptors of A and B, %d13 of the words in rows of 16
/// bytes; %p2 is true in thread 0, which issues.
const std::string operands = R"(
    .shared .align 1024 .b8 s[40960]; .shared .align 8 .b64 bar; .reg .b64 %s; mov.b64 %s, s;
    mov.b32 %r10, 0x3F803F80; mov.b32 %r11, 0x40004000; mad.wide.u32 %d1, %t, 128, %s; mov.b32 %r0, 0;
  $fill:
    st.shared.b32 [%d1], %r10; st.shared.b32 [%d1+16384], %r11; add.s64 %d1, %d1, 4;
    add.u32 %r0, %r0, 1; setp.lt.u32 %p3, %r0, 32; @%p3 bra $fill;
    mad.wide.u32 %d1, %t, 64, %s; shl.b32 %r12, %t, 4; mov.b32 %r0, 0;
  $count:
    st.shared.b32 [%d1+32768], %r12; add.s64 %d1, %d1, 4; add.u32 %r12, %r12, 1;
    add.u32 %r0, %r0, 1; setp.lt.u32 %p3, %r0, 16; @%p3 bra $count;
    setp.eq.u32 %p2, %t, 0; setp.eq.u32 %p4, %t, %t; setp.ne.u32 %p5, %t, %t;
    @%p2 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
    fence.proxy.async; bar.sync 0;
    shr.u64 %d11, %s, 4; and.b64 %d11, %d11, 0x3FFF; add.s64 %d13, %d11, 2048; or.b64 %d13, %d13, 0x0000400800400000;
    or.b64 %d11, %d11, 0x4000404000010000; add.s64 %d12, %d11, 1024;
)";

constexpr std::string_view finish = R"(
    @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
  $done:
    mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $done;
    tcgen05.fence::after_thread_sync;
)";

/// Stores the thread's lane, first columns of it, to `out`.
std::string show(unsigned count) {
  std::string text = "shl.b32 %r1, %w, 21; add.u32 %r1, %r1, %tm;\n";
  text += fmt::format("tcgen05.ld.sync.aligned.32x32b.x{}.b32 {}, [%r1];\n", count, registerList(count));
  text += fmt::format("tcgen05.wait::ld.sync.aligned; mad.wide.u32 %d1, %t, {}, %out;\n", count * 4);
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("st.global.b32 [%d1+{}], %q{};\n", i * 4, i);
  return text;
}

/// Fills the first columns with a float.
std::string set(unsigned count, std::string_view value) {
  std::vector<std::string> all(count, "%r20");
  return fmt::format("mov.b32 %r20, {}; shl.b32 %r1, %w, 21; add.u32 %r1, %r1, %tm;\n"
                     "tcgen05.st.sync.aligned.32x32b.x{}.b32 [%r1], {{{}}};\n"
                     "tcgen05.wait::st.sync.aligned;\n"
                     "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n",
                     value, count, fmt::join(all, ", "));
}

KernelText kernel(std::string body) {
  return {.body = tensorProlog(columns) + operands + body + tensorEpilog(columns),
          .target = "sm_100a",
          .threads = 128,
          .outWords = 128 * 128,
          .raceCheck = RaceCheck::strict};
}

std::vector<uint32_t> shown(std::string_view issue, unsigned count, std::string prepare = "") {
  return output(kernel(prepare + std::string(issue) + std::string(finish) + show(count)));
}

/// bf16 128 x 8 into f32.
constexpr unsigned descriptor = 1 << 4 | 1 << 7 | 1 << 10 | 1 << 17 | 8 << 24;

std::string mma(std::string_view rest, unsigned bits = descriptor, std::string_view modifiers = "") {
  return fmt::format(
      "mov.b32 %r15, {}; @%p2 tcgen05.mma.cta_group::1.kind::f16{} [%tm], %d11, %d12, %r15, {};\n", bits,
      modifiers, rest);
}

bool allAre(const std::vector<uint32_t> &out, unsigned count, float value) {
  bool all = true;
  for (unsigned i = 0; i < 128 * count; ++i)
    all &= out[i] == bits(value);
  return all;
}

} // namespace

TEST_CASE("tcgen05.mma reads D when it is told to, and scales it") {
  CHECK(allAre(shown(mma("%p5"), 8), 8, 32));
  CHECK(allAre(shown(mma("%p4"), 8, set(8, "0f40000000")), 8, 34));
  CHECK(allAre(shown(mma("0") + mma("1"), 8), 8, 64));
  CHECK(allAre(shown(mma("%p4, 3"), 8, set(8, "0f40800000")), 8, 32.5f));
  CHECK(allAre(shown(mma("%p5, 3"), 8), 8, 32));
}

TEST_CASE("tcgen05.mma leaves disabled lanes") {
  const auto out = shown("mov.b32 %r21, 5; mov.b32 %r22, 0; mov.b32 %r23, 0x80000000;\n" +
                             mma("{%r21, %r22, %r22, %r23}, %p5"),
                         8, set(8, "0f40000000"));
  for (unsigned lane = 0; lane < 128; ++lane)
    CHECK(out[8 * lane] == bits(lane == 0 || lane == 2 || lane == 127 ? 2.0f : 32.0f));
}

TEST_CASE("tcgen05.mma takes collector modifiers when they fit") {
  CHECK(
      allAre(shown(mma("0", descriptor, ".collector::a::fill") + mma("1", descriptor, ".collector::a::use") +
                       mma("1", descriptor, ".collector::a::lastuse"),
                   8),
             8, 96));
  CHECK_THAT(
      failure(kernel(mma("0", descriptor, ".collector::a::use"))),
      Contains(
          "the collector buffer is used, but nothing has filled it; missing: .fill in an mma with the same "
          "A before"));
  CHECK_THAT(failure(kernel(mma("0", descriptor, ".collector::a::fill") + "add.s64 %d11, %d11, 2;\n" +
                            mma("0", descriptor, ".collector::a::use"))),
             Contains("was filled with another operand"));
  CHECK_THAT(failure(kernel(mma("0", descriptor, ".collector::b0::fill"))),
             Contains("unknown modifier '.collector::b0::fill'"));
}

TEST_CASE("tcgen05.mma.ws spreads the columns of few rows over the lanes") {
  const unsigned bits64 = 1 << 4 | 1 << 7 | 1 << 10 | 64 >> 3 << 17 | 32 >> 4 << 24;
  const auto out = shown(
      fmt::format(
          "mov.b64 %d20, 0; @%p2 tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::fill [%tm], %d11, "
          "%d12, "
          "{0}, 0;\n@%p2 tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::use [%tm], %d11, %d12, {0}, 1, "
          "%d20;\n",
          bits64),
      16);
  CHECK(allAre(out, 16, 64));
  CHECK_THAT(
      failure(kernel(fmt::format("mov.b64 %d20, 0x8000000000; @%p2 tcgen05.mma.ws.cta_group::1.kind::f16 "
                                 "[%tm], %d11, %d12, {}, 0, %d20;",
                                 bits64))),
      Contains("a zero-column mask is enabled, which is not emulated"));
}

TEST_CASE("tcgen05.mma multiplies A from tensor memory, and shifts it afterwards") {
  // Row r of A is 1 + r / 32 in bf16, all along k.
  const std::string prepare = R"(
    cvt.rn.f32.u32 %r20, %w; add.f32 %r20, %r20, 0f3F800000; cvt.rn.bf16x2.f32 %r20, %r20, %r20;
    and.b32 %r21, %t, 31; setp.eq.u32 %p6, %r21, 31; selp.b32 %r20, 0x41004100, %r20, %p6;
    shl.b32 %r1, %w, 21; add.u32 %r1, %r1, %tm;
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r1+64], {%r20, %r20, %r20, %r20, %r20, %r20, %r20, %r20};
    tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
)";
  const auto once =
      fmt::format("@%p2 tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::discard [%tm], [%tm+64], "
                  "%d12, {}, 0;\n",
                  descriptor);
  const auto first = shown(once, 8, prepare), second = shown(once + once, 8, prepare);
  for (unsigned lane = 0; lane < 128; ++lane) {
    const float own = float(1 + lane / 32);
    CHECK(first[8 * lane] == bits(32 * (lane % 32 == 31 ? 8.0f : own)));
    // Lane 31 of each quarter keeps its row and hands it to lane 30.
    CHECK(second[8 * lane] == bits(32 * (lane % 32 >= 30 ? 8.0f : own)));
  }
  CHECK_THAT(failure(kernel(fmt::format(
                 "@%p2 tcgen05.mma.cta_group::1.kind::f16.ashift [%tm], %d11, %d12, {}, 0;", descriptor))),
             Contains(".ashift needs A in tensor memory"));
}

TEST_CASE("tcgen05.mma scales blocks of k by factors from tensor memory") {
  // All bytes of A are 0x38, 1 in e4m3, of B 0x40, 2; factors are 4 for A and 1/2 for B.
  const std::string prepare = R"(
    mov.b32 %r10, 0x38383838; mov.b32 %r11, 0x40404040; mad.wide.u32 %d1, %t, 128, %s; mov.b32 %r0, 0;
  $again:
    st.shared.b32 [%d1], %r10; st.shared.b32 [%d1+16384], %r11; add.s64 %d1, %d1, 4;
    add.u32 %r0, %r0, 1; setp.lt.u32 %p3, %r0, 32; @%p3 bra $again;
    mov.b32 %r12, 0x00810000; mad.wide.u32 %d1, %t, 16, %s; setp.lt.u32 %p6, %t, 32;
    @%p6 st.shared.v4.b32 [%d1+32768], {%r12, %r12, %r12, %r12}; mov.b32 %r12, 0x7E00;
    @%p6 st.shared.v4.b32 [%d1+33280], {%r12, %r12, %r12, %r12};
    fence.proxy.async; bar.sync 0; add.s64 %d14, %d13, 32;
)";
  // Factors of A in byte 2, of B in byte 1; e4m3 x e4m3, 128 x 8.
  const unsigned bits = 1 << 4 | 1 << 17 | 1 << 23 | 8 << 24 | 2 << 29;
  const std::string copies = "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%tm+64], %d13;\n"
                             "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%tm+68], %d14;\n";
  const auto out =
      shown(copies + fmt::format("@%p2 tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X "
                                 "[%tm], %d11, %d12, {}, [%tm+64], [%tm+68], 0;\n",
                                 bits),
            8, prepare);
  CHECK(allAre(out, 8, 32 * 1 * 2 * 4 * 0.5f));
  const auto wrong = [&](std::string_view form) {
    return failure(
        kernel(fmt::format("@%p2 tcgen05.mma.{} [%tm], %d11, %d12, %r1, [%tm+64], [%tm+68], 0;\n", form)));
  };
  CHECK_THAT(wrong("cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::2X"), Contains("is not a known form"));
  CHECK_THAT(wrong("cta_group::1.kind::mxf4"), Contains("is not a known form"));
  CHECK_THAT(wrong("ws.cta_group::1.kind::mxf4.block_scale"), Contains(".ws has no block-scaled kinds"));
}

TEST_CASE("tcgen05.mma says which field is wrong") {
  const auto wrong = [](std::string body) { return failure(kernel(body)); };
  CHECK_THAT(wrong(mma("0", descriptor | 4)),
             Contains("field 'sparsity' (bit 2) of the instruction descriptor") && Contains("'tcgen05.mma"));
  CHECK_THAT(wrong("and.b64 %d12, %d12, 0xFFFFBFFFFFFFFFFF;\n" + mma("0")),
             Contains("operand B: field 'version' (bits 46-48) of the shared memory descriptor"));
  CHECK_THAT(wrong("or.b64 %d11, %d11, 0x2000000000000;\n" + mma("0")),
             Contains("operand A: field 'base offset'"));
  CHECK_THAT(wrong("or.b64 %d11, %d11, 0x3FFF;\n" + mma("0") + std::string(finish)),
             Contains("out-of-bounds read"));
  CHECK_THAT(wrong("add.u32 %tm, %tm, 0x100000;\n" + mma("0")),
             Contains("of D has lane 16, which must be 0"));
  CHECK_THAT(wrong("add.u32 %tm, %tm, 0x200000;\n" + mma("0", descriptor - (4 << 24))),
             Contains("of D has lane 32, which must be 0 or 16"));
  CHECK_THAT(wrong("add.u32 %tm, %tm, 124;\n" + mma("0")), Contains("columns 124 to 131 of tensor memory"));
  CHECK_THAT(wrong(mma("1, 16")), Contains("scales D by 2 to the minus 0 to 15, but got 16"));
  CHECK_THAT(wrong(mma("{%r1, %r1}, 1")), Contains("takes 4 words of disabled lanes, but got 2"));
  CHECK_THAT(wrong("@%p2 tcgen05.mma.cta_group::1.kind::i8 [%tm], %d11, %d12, %r1, 1, 2;"),
             Contains("cannot scale D; kind::f16 and kind::tf32 can"));
  CHECK_THAT(wrong("@%p2 tcgen05.mma.sp.cta_group::1.kind::f16 [%tm], %d11, %d12, [%tm], %r1, 1;"),
             Contains("is not emulated: sparse operands"));
  CHECK_THAT(wrong("@%p2 tcgen05.mma.ws.cta_group::2.kind::f16 [%tm], %d11, %d12, %r1, 1;"),
             Contains("cta_group"));
}

TEST_CASE("tcgen05.cp brings rows of shared memory to its lanes") {
  struct Copy {
    std::string_view shape;
    unsigned columns;
    /// The row of a lane; nothing: none.
    std::optional<unsigned> (*row)(unsigned lane);
  };
  constexpr Copy copies[] = {
      {"128x256b", 8, [](unsigned lane) { return std::optional(lane); }},
      {"128x128b", 4, [](unsigned lane) { return std::optional(lane); }},
      {"4x256b", 8, [](unsigned lane) { return lane % 32 == 0 ? std::optional(lane / 32) : std::nullopt; }},
      {"64x128b.warpx2::02_13", 4, [](unsigned lane) { return std::optional(lane % 64); }},
      {"64x128b.warpx2::01_23", 4, [](unsigned lane) { return std::optional(lane / 64 * 32 + lane % 32); }},
      {"32x128b.warpx4", 4, [](unsigned lane) { return std::optional(lane % 32); }},
  };
  for (const Copy &copy : copies) {
    INFO(copy.shape);
    const auto out =
        shown(fmt::format("@%p2 tcgen05.cp.cta_group::1.{} [%tm], %d13;\n", copy.shape), 8, set(8, "7"));
    unsigned wrong = 0;
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned column = 0; column < 8; ++column) {
        // Rows of 16 bytes, 8 to a group of 128; the second 16 bytes 1024 bytes on.
        const auto row = copy.row(lane);
        const uint32_t expected = row && column < copy.columns ? *row * 4 + column % 4 + column / 4 * 256 : 7;
        wrong += out[lane * 8 + column] != expected;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("tcgen05.cp takes elements of 6 and 4 bits apart") {
  const std::string pack = R"(
    mov.b32 %r20, 0x76543210; @%p2 st.shared.b32 [s+32768], %r20; @%p2 st.shared.b32 [s+32772], %r20;
    @%p2 st.shared.b32 [s+32776], 0x1234; fence.proxy.async; bar.sync 0;
)";
  const auto four = shown("@%p2 tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64 [%tm], %d13;\n", 4, pack);
  CHECK(four[0] == 0x0C080400);
  CHECK(four[1] == 0x1C181410);
  CHECK(four[2] == four[0]);
  const auto six = shown("@%p2 tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32 [%tm], %d13;\n", 4, pack);
  // 0x543210 in sixes: 0x10, 0x08, 0x03, 0x15.
  CHECK(six[0] == (0x10u << 1 | 0x08u << 9 | 0x03u << 17 | 0x15u << 25));
}

TEST_CASE("tcgen05.shift moves the rows of a quarter by one") {
  const std::string copy = "@%p2 tcgen05.cp.cta_group::1.128x256b [%tm], %d13;\n";
  const auto out =
      shown(copy + "add.u32 %r30, %tm, 0x200000; @%p2 tcgen05.shift.cta_group::1.down [%r30];\n", 8);
  for (unsigned lane = 0; lane < 128; ++lane) {
    const unsigned row = lane >= 32 && lane < 63 ? lane + 1 : lane;
    CHECK(out[lane * 8 + 5] == row * 4 + 1 + 256);
  }
  CHECK_THAT(failure(kernel("add.u32 %r30, %tm, 0x100000; @%p2 tcgen05.shift.cta_group::1.down [%r30];")),
             Contains("of the rows has lane 16, which must be 0 or 32 or 64 or 96"));
}

TEST_CASE("tcgen05.commit arrives when all before it is complete, and at once when nothing is") {
  const auto out = output(kernel(std::string(finish) + "st.global.b32 [%mine], %t;"));
  CHECK(out[127] == 127);
  // In the order of issue, whatever the accumulators.
  const auto two = shown(fmt::format("@%p2 tcgen05.mma.cta_group::1.kind::f16 [%tm+8], %d11, %d12, {0}, 0;\n"
                                     "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%tm], %d11, %d12, {0}, 0;\n",
                                     descriptor),
                         16);
  CHECK(allAre(two, 16, 32));
  CHECK_THAT(
      failure(kernel(".shared .align 8 .b64 other;\n"
                     "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [other];")),
      Contains("the mbarrier at shared offset") && Contains("is not initialised"));
  CHECK_THAT(failure(kernel(
                 "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster"
                 ".b64 [bar], 2;")),
             Contains("the multicast mask 0x2 does not fit the cluster of 1 blocks"));
}

TEST_CASE("an address without bit 24 is one of the even block of the pair") {
  const auto out = output({.body = R"(
    .shared .align 8 .b64 bar; .shared .align 8 .b64 other; mov.u32 %r1, bar; mov.u32 %r2, %cluster_ctarank;
    getctarank.shared::cluster.u32 %r5, %r1;
    setp.eq.u32 %p1, %t, 0; setp.eq.and.u32 %p2, %r2, 2, %p1;
    @%p1 mbarrier.init.shared.b64 [%r1], 2; fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive; barrier.cluster.wait;
    and.b32 %r3, %r1, 0xFEFFFFFF;
    @%p1 mbarrier.arrive.shared::cluster.b64 _, [%r3];
    @!%p2 bra $end;
  $wait: mbarrier.try_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra $wait;
  $end:
    barrier.cluster.arrive; barrier.cluster.wait;
    mad.wide.u32 %d1, %r2, 4, %out; st.global.b32 [%d1], %r5;
)",
                           .target = "sm_100a",
                           .blocks = 4,
                           .cluster = 4});
  CHECK(std::vector(out.begin(), out.begin() + 4) == std::vector<uint32_t>{0, 1, 2, 3});
}

TEST_CASE("an accumulator is read after the wait for its commit") {
  const std::string early = mma("0") + "bar.sync 0;\n" + show(8) + std::string(finish);
  CHECK_THAT(failure(kernel(early)),
             Contains("race between the read of column 0 of lanes") &&
                 Contains("of tensor memory and the write by 'tcgen05.mma.cta_group::1.kind::f16'") &&
                 Contains("for the mbarrier of a tcgen05.commit after it"));
  CHECK(failure(kernel(mma("0") + "bar.sync 0;\n" + std::string(finish) + show(8))) == "");
}

TEST_CASE("operands that threads write need a proxy fence, and stay until the product is complete") {
  KernelText text = kernel(mma("0") + std::string(finish));
  CHECK(failure(text) == "");
  text.body.replace(text.body.find("fence.proxy.async;"), 18, "");
  CHECK_THAT(failure(text), Contains("proxy race between the asynchronous read of shared offset") &&
                                Contains("missing: fence.proxy.async between them"));
  // Thread 0 refills A while the product reads it.
  CHECK_THAT(failure(kernel(mma("0") + "@%p2 st.shared.b32 [s], 0;\n" + std::string(finish))),
             Contains("race between the asynchronous read of shared offset") &&
                 Contains("by 'st.shared.b32'"));
  CHECK(failure(kernel(mma("0") + std::string(finish) + "@%p2 st.shared.b32 [s], 0;\n")) == "");
}
