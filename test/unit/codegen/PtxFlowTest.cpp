// SPDX-License-Identifier: Apache-2.0
/// \file
/// PTX as instructions, registers and blocks.
#include "compiler/codegen/PtxFlow.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tlc;

namespace {

/// "reads a b, writes c" of one instruction, in the order of the text.
std::string accessesOf(const PtxFunction &function, unsigned instruction) {
  std::string text;
  const PtxInstruction &at = function.instructions[instruction];
  for (unsigned i = at.firstAccess; i < at.endAccess; ++i) {
    const PtxAccess &access = function.accesses[i];
    text += (text.empty() ? "" : " ") + function.registers[access.reg].str() + (access.isWrite ? "=" : "");
  }
  return text;
}

/// The only function of a text with this body.
PtxFunction functionOf(const std::string &body, std::string &text) {
  text = ".version 8.7\n.visible .entry k(\n\t.param .u32 k_0\n)\n.maxntid 32, 1, 1\n{\n" + body + "}\n";
  PtxText read = readPtx(text);
  REQUIRE(read.functions.size() == 1);
  CHECK(read.functions.front().name == "k");
  return std::move(read.functions.front());
}

using Successors = std::vector<unsigned>;

} // namespace

TEST_CASE("the first operand is written unless it is an address or there is no result", "[codegen][ptx]") {
  std::string text;
  PtxFunction function = functionOf("add.s32 %r1, %r2, 7;\n"
                                    "st.shared.v2.b32 [%r3+8], {%r1, %r2};\n"
                                    "@!%p1 ld.global.v2.b32 {%r4, %r5}, [%rd1];\n"
                                    "bar.sync %r6, 128;\n"
                                    "mov.u32 %r7, %tid.x;\n"
                                    "shfl.sync.idx.b32 %r8|%p2, %r9, 0, 31, -1;\n"
                                    "mov.f32 %f1, 0f3F800000; // %r10\n",
                                    text);
  REQUIRE(function.instructions.size() == 7);
  CHECK(accessesOf(function, 0) == "%r1= %r2");
  CHECK(accessesOf(function, 1) == "%r3 %r1 %r2");
  CHECK(accessesOf(function, 2) == "%p1 %r4= %r5= %rd1");
  CHECK(accessesOf(function, 3) == "%r6");
  CHECK(accessesOf(function, 4) == "%r7= %tid");
  CHECK(accessesOf(function, 5) == "%r8= %p2= %r9");
  CHECK(accessesOf(function, 6) == "%f1=");
  CHECK(function.instructions[2].guarded);
  CHECK(function.instructions[2].line == 9);
  CHECK(function.blocks.size() == 1);
}

TEST_CASE("blocks follow branches, tables and ends", "[codegen][ptx]") {
  std::string text;
  PtxFunction function = functionOf("mov.b32 %r1, 0;\n" // 0
                                    "$L1:\n"            // 1
                                    "add.s32 %r1, %r1, 1;\n"
                                    "@%p1 bra $L1;\n"
                                    "@%p2 ret;\n"                       // 2
                                    "$T: .branchtargets $L1,\n  $L2;\n" // 3
                                    "brx.idx %r1, $T;\n"
                                    "$L2: bra.uni $L3;\n" // 4
                                    "mov.b32 %r1, 2;\n"   // 5, never reached
                                    "$L3:\n"              // 6
                                    "ret;\n",
                                    text);
  REQUIRE(function.blocks.size() >= 7);
  auto successors = [&](unsigned block) { return function.blocks[block].successors; };
  CHECK(successors(0) == Successors{1});
  CHECK(successors(1) == Successors{2, 1});
  CHECK(successors(2) == Successors{3});
  CHECK(successors(3) == Successors{1, 4});
  CHECK(successors(4) == Successors{6});
  CHECK(successors(5) == Successors{6});
  CHECK(successors(6).empty());
}

TEST_CASE("a branch to a label that is not there may go anywhere", "[codegen][ptx]") {
  std::string text;
  PtxFunction function = functionOf("bra $nowhere;\n$L1:\nret;\n", text);
  CHECK(function.blocks[0].successors.size() == function.blocks.size());
}

TEST_CASE("braces have registers and labels of their own", "[codegen][ptx]") {
  std::string text;
  PtxFunction function =
      functionOf(".reg .b32 t;\n"
                 "mov.b32 t, 1;\n"
                 "{\n.reg .b32 t, u<3>;\nmov.b32 t, 2;\nmov.b32 u1, 2;\nagain: @%p1 bra again;\n}\n"
                 "{\n.reg .b32 v;\nmov.b32 t, u1;\nagain: @%p1 bra again;\n}\n",
                 text);
  auto written = [&](unsigned i) { return function.accesses[function.instructions[i].firstAccess].reg; };
  CHECK(written(0) != written(1));
  CHECK(written(0) == written(4));
  CHECK(written(2) != function.accesses[function.instructions[4].firstAccess + 1].reg);
  std::vector<unsigned> loops;
  for (unsigned i = 0; i < function.blocks.size(); ++i)
    for (unsigned next : function.blocks[i].successors)
      if (next == i)
        loops.push_back(i);
  CHECK(loops.size() == 2);
}

TEST_CASE("functions, declarations and places", "[codegen][ptx]") {
  std::string text = R"(.version 8.7
.extern .func (.param .b32 r) print
(
	.param .b64 a
);
.global .align 4 .b8 table[8] = {1, 2, 3, 4};
.visible .entry one()
{
	.loc	2 0 0
	nop;
	.loc	1 12 5
	nop;
	.loc	1 0 5
	ret;
}
.func (.param .b32 r) two(.param .b32 a)
{
	.pragma "nounroll";
	ret;
}
	.file	1 "kernels/one.cpp"
)";
  PtxText read = readPtx(text);
  REQUIRE(read.functions.size() == 2);
  const PtxFunction &one = read.functions[0];
  CHECK(one.name == "one");
  REQUIRE(one.instructions.size() == 3);
  CHECK(one.instructions[0].sourceLine == 0);
  CHECK(one.instructions[1].sourceLine == 12);
  CHECK(one.instructions[2].sourceLine == 12);
  CHECK(one.instructions[2].sourceColumn == 5);
  CHECK(one.instructions[2].line == 14);
  CHECK(read.functions[1].name == "two");
  CHECK(read.functions[1].instructions.size() == 1);
  CHECK(read.functions[1].instructions[0].line == 19);
  REQUIRE(read.files.size() == 1);
  CHECK(read.files[0].second == "kernels/one.cpp");
}
