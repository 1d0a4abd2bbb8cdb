// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forms of instructions: what is one, and how they are recorded.
#include "compiler/codegen/PtxForms.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace tlc;

TEST_CASE("a form is an opcode and the kinds of its operands", "[codegen][forms]") {
  CHECK(formsOf(R"(
.version 8.7
.target sm_90a
.visible .entry k(.param .u64 p) {
  .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  @%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1+16]; // guards do not count
  ld.global.v2.b32 {%r3, %r4}, [%rd2];
  add.s32 %r1, %r2, 7;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
  { .reg .pred p;
    setp.ne.b32 p, %r1, 0;
    wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%r1, %r2}, %rd1, %rd2, p, 1, 1, 0, 0;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r1, %r2}, {%r3, %r4, %r5, %r6}, %rd2, p, 1, 1, 0;
  }
  bar.sync 0;
  ret;
}
)") == std::set<std::string>{
           "add.s32 r, r, r", "bar.sync r",
           "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [], [], []",
           "ld.global.v2.b32 {}, []", "ret", "setp.ne.b32 r, r, r",
           "wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16 {}, r, r, r, r, r, r, r",
           "wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16 {}, {}, r, r, r, r, r"});
}

TEST_CASE("records of forms are added to a file", "[codegen][forms]") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "tlc-forms-test";
  std::filesystem::remove(path);
  CHECK(recordForms(path.string(), "emulator", {"ret", "bar.sync r"}));
  CHECK(recordForms(path.string(), "cuda", {"ret"}));
  std::ifstream file(path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) ==
        "emulator\tbar.sync r\nemulator\tret\ncuda\tret\n");
  std::filesystem::remove(path);
  CHECK_THAT(recordForms("/nonexistent/forms", "cuda", {"ret"}).error().message,
             Catch::StartsWith("cannot write '/nonexistent/forms': "));
}
