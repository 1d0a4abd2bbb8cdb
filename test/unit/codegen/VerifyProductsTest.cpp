// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which PTX has products in flight whose registers something touches.
#include "compiler/codegen/VerifyProducts.h"

#include <catch2/catch.hpp>

using namespace tlc;
using Catch::Matchers::Contains;

namespace {

/// Statements of products: of accumulators %f1 and %f2, with a descriptor or %r1 to %r4 as factor.
const std::string shared =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, p, 1, 1, 0, 0;\n";
const std::string registers =
    "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, {%r1, %r2, "
    "%r3, %r4}, %rd2, p, 1, 1, 0;\n}\n";
const std::string others =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f5, %f6, %f7, %f8}, {%r5, %r6, %r7, "
    "%r8}, %rd2, p, 1, 1, 0;\n";
const std::string commit = "wgmma.commit_group.sync.aligned;\n";
std::string wait(int pending) { return "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";\n"; }
const std::string writeFactor = "mov.b32 %r3, 0;\n", readFactor = "mov.b32 %r9, %r3;\n";
const std::string writeSum = "mov.f32 %f2, 0f00000000;\n", readSum = "add.f32 %f9, %f2, %f2;\n";

std::optional<ProductHazard> hazardOf(const std::string &body) {
  return findProductHazard(".visible .entry k()\n{\n" + body + "ret;\n}\n");
}

void checkRight(const std::string &body) {
  INFO(body);
  std::optional<ProductHazard> hazard = hazardOf(body);
  INFO((hazard ? hazard->message : ""));
  CHECK_FALSE(hazard);
}

std::string messageOf(const std::string &body) {
  INFO(body);
  std::optional<ProductHazard> hazard = hazardOf(body);
  REQUIRE(hazard);
  return hazard->message;
}

} // namespace

TEST_CASE("registers of a product may be used again after a wait that covers it", "[codegen][products]") {
  checkRight(writeFactor + registers + commit + wait(0) + writeFactor + readSum);
  checkRight(registers + commit + wait(0) + readFactor);
  checkRight(registers + commit + others + commit + wait(1) + writeFactor + readSum);
  checkRight(shared + commit + writeFactor + wait(0)); // no factor in registers
  checkRight("mov.b32 %r3, 1;\n");
}

TEST_CASE("a write of a factor in flight is found", "[codegen][products]") {
  CHECK_THAT(
      messageOf(registers + commit + writeFactor + wait(0)),
      Contains("internal error: 'k' has register %r3 written by 'mov.b32' (PTX line 9) while the product of "
               "line 6, of which it is a factor, is in flight: no wgmma.wait_group between them "
               "covers it"));
  CHECK_THAT(messageOf(registers + writeFactor), Contains("%r3 written"));
  CHECK_THAT(messageOf(registers + commit + wait(1) + writeFactor), Contains("%r3 written"));
  CHECK_THAT(messageOf(registers + wait(0) + writeFactor + commit), Contains("%r3 written")); // not committed
  CHECK_THAT(messageOf(registers + commit + "@%p1 " + writeFactor), Contains("%r3 written"));
  CHECK_THAT(messageOf(registers + commit + "@%p1 " + wait(0) + writeFactor), Contains("%r3 written"));
  CHECK_THAT(messageOf(registers + commit + "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%rd1];\n"),
             Contains("%r3 written by 'ld.shared.v4.b32'"));
  CHECK_THAT(messageOf(registers + commit + "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r9, %r1}, [%r20];\n"),
             Contains("%r1 written by 'ldmatrix"));
}

TEST_CASE("a read of a factor in flight is found, but by a product", "[codegen][products]") {
  CHECK_THAT(messageOf(registers + commit + readFactor + wait(0)),
             Contains("has register %r3 read by 'mov.b32'") && Contains("of which it is a factor"));
  checkRight(registers + registers + commit + wait(0));
}

TEST_CASE("accumulators in flight are neither read nor written", "[codegen][products]") {
  CHECK_THAT(messageOf(shared + commit + readSum + wait(0)),
             Contains("%f2 read by 'add.f32'") && Contains("of which it is an accumulator"));
  CHECK_THAT(messageOf(shared + commit + writeSum + wait(0)), Contains("%f2 written by 'mov.f32'"));
  CHECK_THAT(messageOf(shared + commit + "st.global.b32 [%rd1], %f4;\n"), Contains("%f4 read"));
  CHECK_THAT(messageOf(shared + commit + "st.global.b32 [%f4], %r1;\n"), Contains("%f4 read"));
}

TEST_CASE("products of one shape may add to the same accumulators", "[codegen][products]") {
  checkRight(shared + registers + commit + shared + commit + wait(0) + readSum);
  CHECK_THAT(messageOf(shared +
                       "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f2, %f1, %f3, %f4}, %rd1, "
                       "%rd2, p, 1, 1, 0, 0;\n"),
             Contains("%f2 written by 'wgmma.mma_async"));
  CHECK_THAT(messageOf(shared +
                       "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4, %f5, %f6, "
                       "%f7, %f8}, %rd1, %rd2, p, 1, 1, 0, 0;\n"),
             Contains("%f1 written by 'wgmma.mma_async"));
  CHECK_THAT(messageOf(registers +
                       "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r1, %r2, %r3, %r4}, %rd1, "
                       "%rd2, p, 1, 1, 0, 0;\n"),
             Contains("%r1 written by 'wgmma.mma_async"));
  CHECK_THAT(messageOf(shared +
                       "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f5, %f6, %f7, %f8}, {%f1, %f2, "
                       "%f3, %f4}, %rd2, p, 1, 1, 0;\n"),
             Contains("%f1 read by 'wgmma.mma_async"));
}

TEST_CASE("sums of integers are not accumulators of floats", "[codegen][products]") {
  auto product = [](const std::string &types) {
    return "wgmma.mma_async.sync.aligned.m64n8k32." + types + " {%r1, %r2, %r3, %r4}, %rd1, %rd2, p;\n";
  };
  checkRight(product("s32.s8.s8") + product("s32.u8.s8") + commit + wait(0) + readFactor);
  CHECK_THAT(messageOf(product("s32.s8.s8") + product("f32.e4m3.e4m3")),
             Contains("%r1 written by 'wgmma.mma_async"));
  CHECK_THAT(messageOf(product("s32.s8.s8") + commit + readFactor),
             Contains("of which it is an accumulator"));
}

TEST_CASE("metadata of a sparse factor is read in flight, too", "[codegen][products]") {
  const std::string sparse =
      "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, "
      "%rd2, %r3, 0, p, 1, 1, 0, 0;\n";
  checkRight(writeFactor + sparse + sparse + commit + wait(0) + writeFactor + readSum);
  CHECK_THAT(messageOf(sparse + commit + writeFactor), Contains("%r3 written by 'mov.b32'"));
  CHECK_THAT(messageOf(sparse + commit + readSum), Contains("%f2 read by 'add.f32'"));
  CHECK_THAT(messageOf(sparse + shared), Contains("%f1 written by 'wgmma.mma_async"));
}

TEST_CASE("loops: the next iteration, too", "[codegen][products]") {
  CHECK_THAT(messageOf("$L1:\n" + writeFactor + registers + commit + wait(1) + "@%p1 bra $L1;\n"),
             Contains("%r3 written"));
  checkRight("$L1:\n" + wait(0) + writeFactor + registers + commit + "@%p1 bra $L1;\n");
  checkRight("$L1:\n" + shared + commit + wait(1) + "@%p1 bra $L1;\n" + wait(0) + readSum);
  CHECK_THAT(messageOf("$L1:\n" + shared + commit + wait(1) + "@%p1 bra $L1;\n" + readSum),
             Contains("%f2 read"));
  // Two sets of factors in turn: one is written while the other's product is in flight.
  checkRight("$L1:\n" + wait(1) + writeFactor + registers + commit + wait(1) + "mov.b32 %r5, 0;\n" + others +
             commit + "@%p1 bra $L1;\n");
}

TEST_CASE("of several paths the one with the fewest groups counts", "[codegen][products]") {
  std::string optional = "@%p1 bra $L1;\n" + others + commit + "$L1:\n";
  CHECK_THAT(messageOf(registers + commit + optional + wait(1) + writeFactor), Contains("%r3 written"));
  checkRight(registers + commit + optional + wait(0) + writeFactor);
  CHECK_THAT(messageOf(registers + commit + "@%p1 bra $L1;\n" + wait(0) + "$L1:\n" + writeFactor),
             Contains("%r3 written"));
  checkRight(registers + commit + "@%p1 bra $L1;\n" + wait(0) + "bra $L2;\n$L1:\n" + wait(0) + "$L2:\n" +
             writeFactor);
  // By a table.
  CHECK_THAT(messageOf(registers + commit + "$T: .branchtargets $L1, $L2;\nbrx.idx %r20, $T;\n$L1:\n" +
                       wait(0) + "$L2:\n" + writeFactor),
             Contains("%r3 written"));
  // What is never reached does not count.
  checkRight(registers + commit + "bra $L1;\n" + writeFactor + "$L1:\n" + wait(0));
}

TEST_CASE("registers of braces are others", "[codegen][products]") {
  checkRight(registers + commit + "{\n.reg .b32 %r<5>;\n" + writeFactor + "}\n" + wait(0));
  CHECK_THAT(messageOf(registers + commit + "{\n.reg .b32 t;\n" + writeFactor + "}\n" + wait(0)),
             Contains("%r3 written"));
}

TEST_CASE("a hazard has places in the program", "[codegen][products]") {
  std::optional<ProductHazard> hazard = findProductHazard(
      ".visible .entry k()\n{\n.loc 2 30 7\n" + registers + commit + ".loc 1 12 5\n.loc 1 0 5\n" +
      writeFactor + "ret;\n}\n.file 1 \"a.cpp\"\n.file 2 \"b.cpp\"\n");
  REQUIRE(hazard);
  CHECK(hazard->place.file == "a.cpp");
  CHECK(hazard->place.line == 12);
  CHECK(hazard->place.column == 5);
  CHECK(hazard->product.file == "b.cpp");
  CHECK(hazard->product.line == 30);
  CHECK(hazard->product.column == 7);
}
