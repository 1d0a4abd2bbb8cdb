// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker on memory of the heap: new to who gets it, and free of accesses when it is given back.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

/// `take`: %d1 is new memory of 256 bytes; `give` frees it. %p1: thread 0, %p2: thread 1.
std::string found(const std::string &text, uint32_t threads = 32, uint32_t blocks = 1) {
  return check({.body = "setp.eq.u32 %p1, %t, 0; setp.eq.u32 %p2, %t, 1; .shared .align 8 .b64 passed;\n" +
                        text + "$end:",
                .header = ".extern .func (.param .b64 r) malloc(.param .b64 size);\n"
                          ".extern .func free(.param .b64 pointer);\n",
                .threads = threads,
                .blocks = blocks});
}
const std::string take = "{ .param .b64 a; .param .b64 r; st.param.b64 [a], 256; call (r), malloc, (a);"
                         " ld.param.b64 %d1, [r]; }\n",
                  give = "{ .param .b64 a; st.param.b64 [a], %d1; call free, (a); }\n";
/// Thread 0 takes memory for the block, its address is %d1.
const std::string takeForAll = "@!%p1 bra $got;\n" + take +
                               "st.shared.b64 [passed], %d1;\n$got:\nbar.sync 0; ld.shared.b64 %d1, [passed];"
                               "mad.wide.u32 %d2, %t, 4, %d1;\n";

} // namespace

TEST_CASE("memory that one thread frees another may get") {
  const std::string use = take + "st.b32 [%d1], %t; ld.b32 %r1, [%d1];" + give;
  CHECK(found("@!%p1 bra $second;\n" + use + "$second: @!%p2 bra $end;\n" + use) == "");
  CHECK(found("@!%p1 bra $end;\n" + use, 64, 4) == "");
  CHECK(found(use + use, 64, 2) == "");
}

TEST_CASE("threads that share memory of the heap are ordered there as elsewhere") {
  CHECK(found(takeForAll + "st.b32 [%d2], %t; bar.sync 0; @%p1 ld.b32 %r1, [%d1+4];") == "");
  CHECK_THAT(found(takeForAll + "st.b32 [%d2], %t; @%p1 ld.b32 %r1, [%d1+4];"),
             Contains("race between the read of offset 4") &&
                 Contains("bar.warp.sync in warp 0 between them"));
  CHECK_THAT(found(takeForAll + "st.b32 [%d1], 1;", 64), Contains("race between the write of offset 0"));
}

TEST_CASE("memory is freed after all that others do there") {
  const std::string use = takeForAll + "st.b32 [%d2], %t;", freeAll = "@!%p1 bra $end;\n" + give;
  CHECK(found(use + "bar.sync 0;" + freeAll, 64) == "");
  CHECK_THAT(found(use + freeAll, 64), Contains("race between the write of offset") && Contains("'call"));
  CHECK_THAT(found(use + "bar.sync 0; ld.b32 %r1, [%d2];" + freeAll, 64),
             Contains("and the read by 'ld.b32'"));
  // After it was freed, by a thread that nothing orders.
  CHECK_THAT(found(takeForAll + "@!%p1 bra $others;\n" + give + "bra $end;\n$others:\n st.b32 [%d2], %t;"),
             Contains("race between the"));
}
