// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker and registers: what nothing has written, and what products and
/// loads of tensor memory have while they are under way.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

std::string body(const std::string &text) { return check({.body = text}); }

const std::string here =
    "which nothing has written; missing: a write of it, or of a value that it was computed from";

/// A product of a warpgroup with accumulators %f0 to %f3, of columns 0 to 7 of `s`.
std::string product(std::string_view scale, const std::string &fragments = "%da") {
  return fmt::format(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f0, %f1, %f2, %f3}}, {}, %db, {}, 1, 1{};"
      "wgmma.commit_group.sync.aligned;\n",
      fragments, scale, fragments == "%da" ? ", 0, 0" : ", 0");
}
const std::string fence = "wgmma.fence.sync.aligned;\n", wait = "wgmma.wait_group.sync.aligned 0;\n";

std::string products(const std::string &text) {
  return check({.body = R"(
    .shared .align 1024 .b8 s[8192]; .reg .b64 %s, %at, %da, %db; .reg .f32 %f<8>; .reg .pred %no, %yes; .reg .b32 %a<4>;
    mov.b64 %s, s; mad.wide.u32 %at, %t, 64, %s; mov.b32 %r0, 0;
    st.shared.v4.b32 [%at], {%r0, %r0, %r0, %r0}; st.shared.v4.b32 [%at+16], {%r0, %r0, %r0, %r0};
    st.shared.v4.b32 [%at+32], {%r0, %r0, %r0, %r0}; st.shared.v4.b32 [%at+48], {%r0, %r0, %r0, %r0};
    fence.proxy.async; bar.sync 0;
    setp.ne.u32 %no, %r0, 0; not.pred %yes, %no;
    shr.u64 %da, %s, 4; and.b64 %da, %da, 16383; or.b64 %da, %da, 0x0000000800000000; or.b64 %da, %da, 0x80000;
    mov.b64 %db, %da;
)" + text + wait,
                .threads = 128});
}

} // namespace

TEST_CASE("a register that nothing has written is no address, no stored value and no decision") {
  CHECK_THAT(body("st.global.b32 [%mine], %r7;"), Contains("use of register %r7, " + here) &&
                                                      Contains("'st.global.b32' at PTX line") &&
                                                      Contains("warp 0, lane 0)"));
  CHECK_THAT(body("ld.global.b32 %r1, [%d9];"), Contains("use of register %d9, " + here));
  CHECK_THAT(body("@%p5 bra $end;\n$end:"), Contains("use of register %p5, " + here));
  CHECK_THAT(body("@%p5 mov.b32 %r1, 1;"), Contains("use of register %p5, " + here));
  CHECK_THAT(body(".shared .align 4 .b8 s[4]; red.shared.add.u32 [s], %r7;"),
             Contains("use of register %r7"));
  CHECK(body("mov.b32 %r7, 3; st.global.b32 [%mine], %r7;") == "");
}

TEST_CASE("what is computed from a register that nothing has written is followed") {
  for (const char *compute : {"add.u32 %r1, %r7, 1;", "mov.b32 %r1, %r7;", "mad.lo.u32 %r1, %t, 4, %r7;",
                              "and.b32 %r1, %r7, 255;", "cvt.u32.u16 %r1, %h3;", "selp.b32 %r1, %r7, 1, %p1;",
                              "selp.b32 %r1, 2, 1, %p7;", "mov.b32 %r1, {%h1, %h2};"}) {
    INFO(compute);
    CHECK_THAT(body("setp.lt.u32 %p1, %t, 64;" + std::string(compute) + "st.global.b32 [%mine], %r1;"),
               Contains("use of register %r1, " + here));
    // It may be computed, and moved, as long as nobody needs it.
    CHECK(body("setp.lt.u32 %p1, %t, 64;" + std::string(compute) +
               "mov.b32 %r2, %r1; add.u32 %r3, %r2, 1;") == "");
  }
  CHECK_THAT(body("setp.eq.u32 %p1, %r7, 0; @%p1 bra $end;\n$end:"),
             Contains("use of register %p1, " + here));
  // What is not chosen does not matter, nor what is left out.
  CHECK(body("setp.lt.u32 %p1, %t, 64; selp.b32 %r1, 1, %r7, %p1; st.global.b32 [%mine], %r1;") == "");
  CHECK(body("mov.b16 %h1, 1; mov.b32 %r1, {%h1, %h2}; mov.b32 {%h4, %h5}, %r1; cvt.u32.u16 %r2, %h4;"
             "st.global.b32 [%mine], %r2;") == "");
  CHECK(body("bfi.b32 %r1, %t, %r7, 0, 16; and.b32 %r1, %r1, 65535; st.global.b32 [%mine], %r1;") == "");
}

TEST_CASE("of operands that are left out, or give some bits, the others count") {
  const auto stored = [](const std::string &compute) {
    return body("mov.b32 %r2, 65535; mov.b32 %r4, -1; mov.b32 %r5, 0;" + compute +
                "st.global.b32 [%mine], %r1;");
  };
  for (const char *compute :
       {"and.b32 %r1, %r7, %r4;", "or.b32 %r1, %r7, %r5;", "xor.b32 %r1, %r7, %r2;",
        "lop3.b32 %r1, %r7, %r2, %r4, 0xF0;", "prmt.b32 %r1, %r7, %r2, 0x3210;",
        "shf.l.wrap.b32 %r1, %r2, %r7, 0;", "slct.b32.s32 %r1, %r7, %r2, %r5;", "or.b32 %r1, %r7, %r8;"}) {
    INFO(compute);
    CHECK_THAT(stored(compute), Contains("use of register %r1, " + here));
  }
  for (const char *compute :
       {"and.b32 %r1, %r7, %r5;", "or.b32 %r1, %r7, %r4;", "and.b32 %r1, %r7, %r2;",
        "lop3.b32 %r1, %r7, %r2, %r4, 0xCC;", "prmt.b32 %r1, %r7, %r2, 0x7654;",
        "prmt.b32 %r1, %r7, %r2, 0x5410;", "slct.b32.s32 %r1, %r7, %r2, %r4;", "xor.b32 %r1, %r7, %r7;"}) {
    INFO(compute);
    CHECK(stored(compute) == "");
  }
  // Of a predicate and a false one nothing is left.
  const auto decided = [](const std::string &compute) {
    return body("setp.lt.u32 %p1, %t, 64;" + compute + "@%p2 bra $end;\n$end:");
  };
  CHECK(decided("not.pred %p1, %p1; and.pred %p2, %p1, %p7;") == "");
  CHECK_THAT(decided("and.pred %p2, %p1, %p7;"), Contains("use of register %p2, " + here));
}

TEST_CASE("bits that are written one after the other are followed one by one") {
  // As a structure with bit fields is filled by code for a debugger.
  const auto fields = [](const std::string &read) {
    return body(".local .align 8 .b8 l[16]; .reg .b64 %l; mov.b64 %l, l; cvta.local.u64 %d1, %l;"
                "ld.u8 %h1, [%d1+3]; and.b16 %h2, %h1, -2; or.b16 %h3, %h2, 1; st.u8 [%d1+3], %h3;"
                "ld.u8 %h4, [%d1+3]; and.b16 %h5, %h4, -3; st.u8 [%d1+3], %h5; ld.u8 %h6, [%d1+3];" +
                read + "setp.ne.s16 %p1, %h9, 0; @%p1 bra $end;\n$end:");
  };
  const std::string undefined = "use of register %p1, " + here;
  for (const char *read : {"and.b16 %h9, %h6, 1;", "and.b16 %h9, %h6, 3;",
                           "shl.b16 %h7, %h6, 6; and.b16 %h8, %h7, 255;"
                           "shr.u16 %h9, %h8, 7;",
                           "cvt.u32.u16 %r1, %h6; bfe.u32 %r2, %r1, 0, 2; cvt.u16.u32 %h9, %r2;"}) {
    INFO(read);
    CHECK(fields(read) == "");
  }
  for (const char *read : {"and.b16 %h9, %h6, 4;", "mov.b16 %h9, %h6;", "shr.u16 %h9, %h6, 1;",
                           "and.b16 %h8, %h6, 3; shl.b16 %h9, %h8, %r7;"}) {
    INFO(read);
    CHECK_THAT(fields(read), Contains(undefined));
  }
}

TEST_CASE("what other lanes give is followed") {
  const std::string all = ", 31, 0xffffffff;", some = "setp.lt.u32 %p1, %t, 16; @%p1 mov.b32 %r7, %t;";
  const auto kernel = [](const std::string &text) { return check({.body = text + "$end:"}); };
  // Lanes from 16 on have not written theirs, and lanes below do not take it.
  CHECK(kernel(some + "shfl.sync.bfly.b32 %r1, %r7, 8" + all + "@%p1 st.global.b32 [%mine], %r1;") == "");
  CHECK_THAT(kernel(some + "shfl.sync.bfly.b32 %r1, %r7, 16" + all + "@%p1 st.global.b32 [%mine], %r1;"),
             Contains("use of register %r1, " + here) && Contains("lane 0)"));
  // Into its own register.
  CHECK_THAT(kernel(some + "shfl.sync.bfly.b32 %r7, %r7, 16" + all + "@%p1 st.global.b32 [%mine], %r7;"),
             Contains("use of register %r7, " + here));
  CHECK(kernel(some + "shfl.sync.idx.b32 %r7, %r7, 3" + all + "st.global.b32 [%mine], %r7;") == "");
  CHECK_THAT(kernel("shfl.sync.idx.b32 %r1, %t, %r7" + all + "st.global.b32 [%mine], %r1;"),
             Contains("use of register %r1, " + here));
  // Of all lanes, where one has none.
  for (const char *combine :
       {"redux.sync.add.u32 %r1, %r7, 0xffffffff;", "match.any.sync.b32 %r1, %r7, 0xffffffff;",
        "setp.eq.u32 %p2, %r7, 3; vote.sync.ballot.b32 %r1, %p2, 0xffffffff;"}) {
    INFO(combine);
    CHECK_THAT(kernel(some + std::string(combine) + "@%p1 st.global.b32 [%mine], %r1;"),
               Contains("use of register %r1, " + here));
    CHECK(kernel(some + "@!%p1 mov.b32 %r7, 5;" + std::string(combine) + "st.global.b32 [%mine], %r1;") ==
          "");
  }
}

TEST_CASE("each lane has written its own registers") {
  const auto kernel = [](std::string_view store) {
    return body("setp.eq.u32 %p1, %t, 5; @!%p1 mov.b32 %r7, 1; " + std::string(store));
  };
  CHECK(kernel("@!%p1 st.global.b32 [%mine], %r7;") == "");
  CHECK_THAT(kernel("st.global.b32 [%mine], %r7;"), Contains("use of register %r7") && Contains("lane 5)"));
}

TEST_CASE("local memory that nothing has written is followed as registers are") {
  const auto kernel = [](const std::string &text) {
    return body(".local .align 8 .b8 l[32]; .reg .b64 %l; mov.b64 %l, l;" + text);
  };
  CHECK_THAT(kernel("ld.local.b32 %r1, [l+4]; st.global.b32 [%mine], %r1;"),
             Contains("use of register %r1, " + here));
  CHECK(kernel("st.local.b32 [l+4], 7; ld.local.b32 %r1, [l+4]; st.global.b32 [%mine], %r1;") == "");
  // To the byte, and by generic addresses.
  CHECK_THAT(
      kernel("mov.b16 %h1, 7; st.local.b16 [l+4], %h1; ld.local.b32 %r1, [l+4]; st.global.b32 [%mine], %r1;"),
      Contains("use of register %r1"));
  CHECK(kernel("cvta.local.u64 %d1, %l; st.b32 [%d1+8], 7; ld.local.v2.b32 {%r1, %r2}, [l+8];"
               "st.global.b32 [%mine], %r1;") == "");
  CHECK_THAT(kernel("st.local.b32 [l+8], 7; ld.local.v2.b32 {%r1, %r2}, [l+8]; st.global.b32 [%mine], %r2;"),
             Contains("use of register %r2"));
  // What nobody needs may be copied there and back.
  CHECK(kernel("st.local.b32 [l], %r7; ld.local.b32 %r8, [l];") == "");
  CHECK_THAT(kernel("st.local.b32 [l], %r7; ld.local.b32 %r8, [l]; st.global.b32 [%mine], %r8;"),
             Contains("use of register %r8"));
}

TEST_CASE("a generic store moves a value, to memory of the lane or elsewhere") {
  const auto kernel = [](const std::string &text) {
    return body(".local .align 8 .b8 l[32]; .reg .b64 %l; mov.b64 %l, l; cvta.local.u64 %d1, %l;" + text);
  };
  CHECK(kernel("st.u8 [%d1], %h3;") == "");
  CHECK(kernel("st.v2.b32 [%d1], {%t, %r7};") == "");
  // To local memory it is followed.
  CHECK_THAT(kernel("st.b32 [%d1], %r7; ld.b32 %r8, [%d1]; st.global.b32 [%mine], %r8;"),
             Contains("use of register %r8, " + here));
  // A structure with a gap, as a compiler copies it that does not optimise: by words.
  const std::string gap = "mov.b16 %h1, 7; st.u8 [%d1], %h1; st.b32 [%d1+4], 3; ld.b32 %r8, [%d1];"
                          "ld.b32 %r9, [%d1+4]; ld.b32 %r10, [%d1+8];";
  CHECK(kernel(gap + "mad.wide.u32 %d2, %t, 8, %out; st.b32 [%d2], %r8; st.b32 [%d2+4], %r9;") == "");
  CHECK(kernel(gap + "mad.wide.u32 %d2, %t, 8, %out; st.v2.b32 [%d2], {%r9, %r10};") == "");
  // The address is needed, and so is what is stored to memory that all threads see.
  CHECK_THAT(kernel("st.b32 [%d9], %t;"), Contains("use of register %d9, " + here));
  CHECK_THAT(kernel("st.global.b32 [%mine], %r7;"), Contains("use of register %r7, " + here));
  CHECK_THAT(kernel(".shared .align 4 .b8 s[4]; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.b32 [s], %r7;"),
             Contains("use of register %r7, " + here));
  CHECK_THAT(kernel(gap + "st.global.b32 [%mine], %r10;"), Contains("use of register %r10, " + here));
}

TEST_CASE("parameters and results of functions are followed") {
  const auto byMemory = [](const std::string &set, const std::string &result) {
    return check({.body = "{ .param .b32 a; .param .b32 r; " + set + R"(
      call (r), f, (a);
      ld.param.b32 %r2, [r]; st.global.b32 [%mine], %r2; })",
                  .header = R"(
.func (.param .b32 r) f(.param .b32 a)
{
  .reg .b32 %a, %n;
  ld.param.b32 %a, [a];
)" + result + "\n ret;\n}\n"});
  };
  CHECK(byMemory("st.param.b32 [a], %t;", "st.param.b32 [r], %a;") == "");
  CHECK_THAT(byMemory("st.param.b32 [a], %r7;", "st.param.b32 [r], %a;"), Contains("use of register %r2"));
  CHECK_THAT(byMemory("st.param.b32 [a], %t;", "st.param.b32 [r], %n;"), Contains("use of register %r2"));
}

TEST_CASE("registers that threads used come to a product after wgmma.fence") {
  const std::string start =
      "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; add.f32 %f3, %f0, %f1;\n";
  CHECK(products(start + fence + product("%yes")) == "");
  CHECK_THAT(
      products(fence + start + product("%yes")),
      Contains(
          "a register of the product is used before it, and no fence is between: 'add.f32' at PTX line") &&
          Contains("missing: wgmma.fence between them ('wgmma.mma_async"));
  CHECK_THAT(products(start + product("%yes")),
             Contains("no fence comes before the product; missing: wgmma.fence"));
  // A read counts, too: the product may write before it.
  const std::string first = start + fence + product("%yes") + wait;
  CHECK_THAT(products(first + "add.f32 %f7, %f2, %f2;" + product("%yes")), Contains("'add.f32' at PTX line"));
  CHECK(products(first + "add.f32 %f7, %f2, %f2;" + fence + product("%yes")) == "");
  // A move is no use of its own: compilers put them anywhere.
  CHECK(products(start + "add.f32 %f7, %f0, %f0;" + fence + "mov.f32 %f1, %f7;" + product("%yes")) == "");
  CHECK_THAT(products(start + fence + "add.f32 %f7, %f0, %f0; mov.f32 %f1, %f7;" + product("%yes")),
             Contains("'add.f32' at PTX line"));
  // Products of one shape follow each other.
  CHECK(products(start + fence + product("%yes") + product("%yes")) == "");
}

TEST_CASE("so do fragments of A") {
  const std::string fragments = "{%a0, %a1, %a2, %a3}",
                    start = "mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; add.u32 %a3, %t, 0;\n";
  CHECK(products(start + fence + product("%no", fragments)) == "");
  CHECK(products(start + fence + product("%no", fragments) + product("%yes", fragments)) == "");
  CHECK_THAT(products(fence + start + product("%no", fragments)),
             Contains("missing: wgmma.fence between them"));
  CHECK_THAT(products(fence + "mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0;" + product("%no", fragments)),
             Contains("use of register %a3, " + here));
}

TEST_CASE("accumulators that a product adds to have been written") {
  CHECK(products(fence + product("%no")) == "");
  CHECK_THAT(products(fence + product("%yes")), Contains("use of register %f0, " + here));
  CHECK(products(fence + product("%no") + wait +
                 "mad.wide.u32 %d1, %t, 4, %out; st.global.f32 [%d1], %f3;") == "");
}

TEST_CASE("what a function of the system returns has been written") {
  std::string printed;
  CHECK(check({.body = R"({
      .param .b64 format; .param .b64 arguments; .param .b32 count; .reg .b64 %text;
      mov.b64 %text, text; cvta.global.u64 %text, %text; mov.b64 %d1, 0;
      st.param.b64 [format], %text; st.param.b64 [arguments], %d1;
      call (count), vprintf, (format, arguments);
      ld.param.b32 %r1, [count]; st.global.b32 [%mine], %r1; })",
               .header = ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n"
                         ".global .align 1 .b8 text[3] = {104, 105, 0};\n",
               .printed = &printed}) == "");
}
