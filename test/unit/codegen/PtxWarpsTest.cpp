// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which warps execute which blocks of a function.
#include "compiler/codegen/PtxWarps.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tlc;

namespace {

/// The warps that execute the instruction that has `text` among its operands.
unsigned long warpsAt(const std::string &body, const std::string &text, unsigned warps = 8) {
  const std::string ptx = ".visible .entry f()\n{\n" + body + "}\n";
  const PtxText read = readPtx(ptx);
  REQUIRE(read.functions.size() == 1);
  const PtxFunction &function = read.functions.front();
  const std::vector<WarpSet> executing = warpsOfBlocks(function, warps);
  for (size_t block = 0; block < executing.size(); ++block)
    for (unsigned i = function.blocks[block].first; i < function.blocks[block].end; ++i)
      if (function.instructions[i].operands.contains(text))
        return executing[block].to_ulong();
  FAIL("no instruction has " << text);
  return 0;
}

const std::string warpNumber = "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\n"
                               "shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;\n";

} // namespace

TEST_CASE("a branch on the warp's number divides the warps", "[ptx-warps]") {
  const std::string body = warpNumber + "setp.gt.u32 %p1, %r3, 3;\n@%p1 bra $others;\n"
                                        "mov.u32 %r9, 100;\nbra $end;\n"
                                        "$others:\nadd.s32 %r4, %r3, -4;\nsetp.eq.b32 %p2, %r4, 0;\n"
                                        "@!%p2 bra $end;\nmov.u32 %r9, 200;\n"
                                        "$end:\nmov.u32 %r9, 300;\nret;\n";
  CHECK(warpsAt(body, "100") == 0x0f);
  CHECK(warpsAt(body, "200") == 0x10);
  CHECK(warpsAt(body, "300") == 0xff);
}

TEST_CASE("a table of targets divides the warps", "[ptx-warps]") {
  const std::string body = warpNumber + "$list: .branchtargets $a, $b, $b;\nbrx.idx %r3, $list;\n"
                                        "$a:\nmov.u32 %r9, 100;\nret;\n$b:\nmov.u32 %r9, 200;\nret;\n";
  CHECK(warpsAt(body, "100", 3) == 0x1);
  CHECK(warpsAt(body, "200", 3) == 0x6);
}

TEST_CASE("lanes that disagree, and numbers from memory, go both ways", "[ptx-warps]") {
  const auto both = [](const std::string &condition) {
    const std::string body =
        warpNumber + condition + "@%p1 bra $end;\nmov.u32 %r9, 100;\n$end:\nmov.u32 %r9, 300;\nret;\n";
    CHECK(warpsAt(body, "300") == 0xff);
    return warpsAt(body, "100");
  };
  CHECK(both("setp.lt.u32 %p1, %r1, 48;\n") == 0xfe); // the second warp's lanes are on both sides
  CHECK(both("ld.shared.u32 %r5, [%r6];\nsetp.lt.u32 %p1, %r5, 4;\n") == 0xff);
  CHECK(both("and.b32 %r5, %r3, 1;\nsetp.ne.s32 %p1, %r5, 0;\n") == 0x55);
  CHECK(both("add.s32 %r5, %r3, -4;\nsetp.lt.u32 %p1, %r5, 2;\n") == 0xcf);
  CHECK(both("add.s32 %r5, %r3, -4;\nsetp.lt.s32 %p1, %r5, 2;\n") == 0xc0);
  // A register that two instructions write is unknown.
  CHECK(both("mov.u32 %r7, 0;\nmov.u32 %r7, %r3;\nsetp.lt.u32 %p1, %r7, 4;\n") == 0xff);
}
