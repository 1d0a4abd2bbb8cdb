// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls: recursion, pointers to functions, the stack, what the system defines.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

const std::string fibonacci = R"(
.func (.param .b32 ret) fib(.param .b32 n) {
  .reg .b32 %r<6>; .reg .pred %p;
  ld.param.b32 %r1, [n];
  setp.lt.u32 %p, %r1, 2;
  @%p bra $small;
  add.u32 %r2, %r1, -1;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }
  add.u32 %r2, %r1, -2;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r4, [b]; }
  add.u32 %r1, %r3, %r4;
$small:
  st.param.b32 [ret], %r1;
  ret;
})";

const std::string callFibonacci = R"(
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), fib, (a); ld.param.b32 %r2, [b]; }
)";

} // namespace

TEST_CASE("the heap joins what is freed, and gives what fits best") {
  tlc::emulator::Heap heap;
  const uint64_t a = heap.allocate(100), b = heap.allocate(32), c = heap.allocate(200), d = heap.allocate(16);
  CHECK(a % 16 == 0);
  CHECK(b == a + 112);
  CHECK(heap.sizeOf(c) == 208);
  CHECK(heap.free(c));
  CHECK_FALSE(heap.free(c));
  CHECK(heap.free(a));
  CHECK(heap.allocate(112) == a);
  CHECK(heap.free(a));
  CHECK(heap.free(b));
  CHECK(heap.allocate(352) == a); // a, b and c are one gap again
  CHECK(heap.free(d));
  CHECK(heap.free(a));
  CHECK(heap.allocate(tlc::emulator::Heap::bytes) == a);
  CHECK(heap.allocate(1) == 0);
}

TEST_CASE("a function calls itself, to another depth in each lane") {
  const auto out = output(
      {.body = "and.b32 %r1, %t, 7;" + callFibonacci + "st.global.b32 [%mine], %r2;", .header = fibonacci});
  const uint32_t expected[] = {0, 1, 1, 2, 3, 5, 8, 13};
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(out[lane] == expected[lane % 8]);
}

TEST_CASE("local variables of a recursion are apart: each level's address differs") {
  // depth(n, p): stores n in a variable of its own, goes deeper with its address, adds what lies there.
  const auto out = output({.body = R"(
    { .param .b32 n; .param .b64 p; .param .b32 r;
      st.param.b32 [n], 4; st.param.b64 [p], 0;
      call (r), depth, (n, p); ld.param.b32 %r2, [r]; }
    st.global.b32 [%mine], %r2;
  )",
                           .header = R"(
.func (.param .b32 ret) depth(.param .b32 n, .param .b64 p) {
  .local .align 8 .b8 mine[16];
  .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .pred %p<3>;
  ld.param.b32 %r1, [n]; ld.param.b64 %d1, [p];
  mov.u64 %d2, mine; cvta.local.u64 %d3, %d2;
  st.local.b32 [mine+4], %r1;
  mov.b32 %r2, 0;
  setp.eq.u64 %p1, %d1, 0;
  @!%p1 ld.b32 %r2, [%d1+4];
  setp.eq.u32 %p2, %r1, 0;
  mov.b32 %r3, 0;
  @%p2 bra $end;
  add.u32 %r4, %r1, -1;
  { .param .b32 a; .param .b64 b; .param .b32 c;
    st.param.b32 [a], %r4; st.param.b64 [b], %d3;
    call (c), depth, (a, b); ld.param.b32 %r3, [c]; }
$end:
  ld.local.b32 %r5, [%d2+4];
  mad.lo.u32 %r3, %r3, 10, %r5;
  mad.lo.u32 %r3, %r2, 100000, %r3;
  st.param.b32 [ret], %r3;
  ret;
})"});
  // Levels see 4, 3, 2, 1, 0 in their own variable and 0, 4, 3, 2, 1 through the pointer.
  uint64_t expected = 0;
  const uint32_t own[] = {4, 3, 2, 1, 0}, seen[] = {0, 4, 3, 2, 1};
  for (int level = 4; level >= 0; --level)
    expected = expected * 10 + own[level] + 100000 * seen[level];
  CHECK(out[0] == uint32_t(expected));
}

TEST_CASE("an endless recursion overflows the stack") {
  const std::string header = R"(
.func forever(.param .b64 x) {
  .reg .b64 %d1;
  ld.param.b64 %d1, [x];
  { .param .b64 a; st.param.b64 [a], %d1; call forever, (a); }
  ret;
})";
  CHECK_THAT(
      failure({.body = "{ .param .b64 a; st.param.b64 [a], 1; call forever, (a); }", .header = header}),
      Contains("the stack of lane 0 overflows: 'forever' needs 16 bytes more, 0 of 16384 are free"));
}

TEST_CASE("calls through pointers, from memory and to another function in each lane") {
  const std::string header = R"(
.func (.param .b32 r) twice(.param .b32 x);
.func (.param .b32 r) thrice(.param .b32 x) {
  .reg .b32 %r1; ld.param.b32 %r1, [x]; mul.lo.u32 %r1, %r1, 3; st.param.b32 [r], %r1; ret;
}
.func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %r1; ld.param.b32 %r1, [x]; mul.lo.u32 %r1, %r1, 2; st.param.b32 [r], %r1; ret;
}
.func (.param .b64 r) other(.param .b64 x) { ret; }
.alias doubled, twice;
.global .align 8 .u64 table[3] = {doubled, thrice, other};
)";
  const std::string call = R"(
    ld.u64 %d3, [%d2];
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %t;
      proto: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (b), %d3, (a), proto;
      ld.param.b32 %r2, [b]; }
    st.global.b32 [%mine], %r2;
  )";
  const auto out =
      output({.body = "and.b32 %r1, %t, 1; mov.u64 %d1, table; mad.wide.u32 %d2, %r1, 8, %d1;" + call,
              .header = header});
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(out[lane] == lane * (lane % 2 ? 3 : 2));
  CHECK_THAT(failure({.body = "mov.u64 %d2, table+16;" + call, .header = header}),
             Contains("parameter 0 of 'other' has 8 bytes, but got 4")
                 .operator||(Contains("result 0 of 'other' has 8 bytes, but got 4")));
  CHECK_THAT(failure({.body = "st.global.b64 [%out], 77; mov.u64 %d2, %out;" + call, .header = header}),
             Contains("0x4d in lane 0 is not the address of a function"));
  CHECK_THAT(failure({.body = "mov.u64 %d1, twice; ld.u32 %r1, [%d1];", .header = header}),
             Contains("out-of-bounds"));
}

TEST_CASE("initial values take parts of addresses under masks") {
  const auto out = output({.body = "mov.u64 %d1, parts; ld.global.u64 %d2, [%d1+8]; ld.global.u32 %r1, [%d2];"
                                   "st.global.b32 [%mine], %r1;",
                           .header = R"(
.global .align 4 .u32 value = 1234;
.global .align 8 .u8 parts[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0xFF(value), 0xFF00(value), 0xFF0000(value), 0xFF000000(value),
  0xFF00000000(value), 0xFF0000000000(value), 0xFF000000000000(value), 0xFF00000000000000(value)};
)",
                           .threads = 1});
  CHECK(out[0] == 1234);
}

TEST_CASE("alloca takes memory of the function's call") {
  const auto out = output({.body = R"(
    mov.b32 %r9, 0;
  $again:
    { .param .b32 n; .param .b32 r; st.param.b32 [n], %r9; call (r), use, (n); ld.param.b32 %r2, [r]; }
    add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 100; @%p1 bra $again;
    st.global.b32 [%mine], %r2;
    stacksave.u64 %d1; alloca.u64 %d2, 32, 64; stacksave.u64 %d3; stackrestore.u64 %d1; stacksave.u64 %d4;
    and.b64 %d5, %d2, 63; sub.u64 %d6, %d3, %d2; sub.u64 %d7, %d4, %d1;
    st.global.v4.b32 [%out+128], {0, 0, 0, 0};
    cvt.u32.u64 %r3, %d5; cvt.u32.u64 %r4, %d6; cvt.u32.u64 %r5, %d7;
    st.global.v4.b32 [%out+128], {%r3, %r4, %r5, 1};
  )",
                           .header = R"(
.func (.param .b32 ret) use(.param .b32 n) {
  .reg .b32 %r<4>; .reg .b64 %d<4>;
  ld.param.b32 %r1, [n];
  alloca.u64 %d1, 1000;
  st.local.b32 [%d1+996], %r1; ld.local.b32 %r2, [%d1+996];
  st.param.b32 [ret], %r2; ret;
})"});
  CHECK(out[31] == 99);
  CHECK(std::vector<uint32_t>(out.begin() + 32, out.begin() + 36) == std::vector<uint32_t>{0, 32, 0, 1});
  CHECK_THAT(failure({.body = "alloca.u64 %d1, 20000;"}), Contains("20000 bytes are wanted"));
}

TEST_CASE("what a launch prints has a limit") {
  std::string text = ".global .align 1 .b8 format[256] = {";
  for (int i = 0; i < 255; ++i)
    text += "120, ";
  std::string printed;
  CHECK(run({.body = R"(
    mov.u32 %r1, 0; mov.u64 %d1, format; mov.u64 %d2, 0;
    $more: { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1; st.param.b64 [a], %d2;
      call (r), vprintf, (f, a); }
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 5000; @%p1 bra $more;
  )",
             .header = ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n" +
                       text + "0};\n",
             .threads = 1,
             .printed = &printed})
            .status);
  constexpr size_t limit = 1 << 20;
  CHECK(printed.size() < limit + 100);
  CHECK(printed.substr(0, limit / 256 * 255).find_first_not_of('x') == std::string::npos);
  CHECK(printed.ends_with("x\n'k' has printed 1 MiB, as much as the emulator shows of a launch\n"));
}

TEST_CASE("vprintf prints, an assertion stops") {
  const std::string header = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 format[40] = {108, 97, 110, 101, 32, 37, 51, 100, 58, 32, 37, 46, 50, 102, 32, 37, 108, 108, 120,
  32, 37, 115, 32, 37, 99, 37, 37, 10, 0};
.global .align 1 .b8 word[3] = {111, 107, 0};
)"; // "lane %3d: %.2f %llx %s %c%%\n" and "ok"
  std::string printed;
  const auto out = output({.body = R"(
    .local .align 8 .b8 arguments[48];
    setp.ge.u32 %p1, %t, 2; @%p1 exit;
    add.u64 %d1, %d1, 0; mov.u64 %d1, arguments; cvta.local.u64 %d2, %d1;
    st.local.u32 [%d1], %t;
    st.local.f64 [%d1+8], 0d3FF8000000000000;
    st.local.u64 [%d1+16], 0xABCDEF0123;
    mov.u64 %d3, word; st.local.u64 [%d1+24], %d3;
    st.local.u32 [%d1+32], 33;
    mov.u64 %d4, format;
    { .param .b64 a; .param .b64 b; .param .b32 r;
      st.param.b64 [a], %d4; st.param.b64 [b], %d2; call.uni (r), vprintf, (a, b); ld.param.b32 %r1, [r]; }
    st.global.b32 [%mine], %r1;
  )",
                           .header = header,
                           .printed = &printed});
  CHECK(printed == "lane   0: 1.50 abcdef0123 ok !%\nlane   1: 1.50 abcdef0123 ok !%\n");
  CHECK(out[1] == 5);
  CHECK_THAT(failure({.body = R"(
    mov.u64 %d3, word;
    { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
      st.param.b64 [a], %d3; st.param.b64 [b], %d3; st.param.b32 [c], 7; st.param.b64 [d], %d3; st.param.b64 [e], 1;
      call __assertfail, (a, b, c, d, e); }
  )",
                      .header = header}),
             Contains("assertion 'ok' failed at ok:7 in 'ok', lanes 0xffffffff"));
  CHECK_THAT(failure({.body = "{ .param .b64 a; call vprintf, (a); }", .header = header}),
             Contains("call of 'vprintf' with other parameters than it has"));
  CHECK_THAT(failure({.body = "{ .param .b64 a; call nobody, (a); }"}),
             Contains("call of 'nobody', which this module does not define"));
}

TEST_CASE("malloc gives memory of each thread's own, free takes it back") {
  const std::string header = R"(
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 pointer);
)";
  const std::string take = R"(
    { .param .b64 a; .param .b64 r; st.param.b64 [a], 24; call (r), malloc, (a); ld.param.b64 %d1, [r]; }
  )";
  const std::string giveBack = "{ .param .b64 a; st.param.b64 [a], %d1; call free, (a); }";
  const auto out = output({.body = take + "st.u32 [%d1+20], %t; bar.warp.sync -1; ld.u32 %r1, [%d1+20];" +
                                   giveBack + "st.global.b32 [%mine], %r1;",
                           .header = header});
  for (unsigned lane = 0; lane < 32; ++lane)
    CHECK(out[lane] == lane);
  CHECK_THAT(failure({.body = take + giveBack + giveBack, .header = header, .threads = 1}),
             Contains("in lane 0 is not an address that malloc returned"));
  CHECK(output({.body = "{ .param .b64 a; .param .b64 r; st.param.b64 [a], 0x1000000; call (r), malloc, (a);"
                        " ld.param.b64 %d1, [r]; } st.global.b64 [%out], %d1;",
                .header = header,
                .threads = 1})[0] == 0);
}
