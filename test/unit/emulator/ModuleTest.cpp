// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parser and the decoder: what they take, and what they say about the rest.
#include "runtime/emulator/ptx/Parser.h"
#include "runtime/emulator/report/SymbolName.h"
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

std::string loadError(std::string text) {
  auto program = loadProgram(text);
  return program ? std::string() : program.error().message;
}

const std::string head = ".version 8.7\n.target sm_90a\n.address_size 64\n";

} // namespace

TEST_CASE("a module with everything around the code") {
  auto module = parseModule(head + R"(
/* a comment
   of two lines */
.file 1 "dir/kernel.cpp"
.extern .shared .align 1024 .b8 smem[];
.visible .entry two(
	.param .align 64 .b8 two_param_0[128],
	.param .u64 .ptr .global .align 1 two_param_1,
	.param .u32 two_param_2
)
.maxntid 384, 1, 1
.minnctapersm 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
	.pragma "nounroll";
	.reg .pred 	%p<3>;
	.reg .b32 	%r<4>;
	.loc	1 12 3
	// begin inline asm
	{ .reg .pred q; setp.ne.b32 q, %r1, 0; @q bra $L; $L: }
	// end inline asm
	.loc	1 20 5, function_name $L__info_string0 + 0, inlined_at 1 30 7
	@!%p1 ld.global.b32 %r1, [smem+16];
}
.section .debug_abbrev { .b8 1 .b8 2 { } }
)");
  REQUIRE(module);
  CHECK(module->target == "sm_90a");
  CHECK(module->versionMinor == 7);
  REQUIRE(module->functions.size() == 1);
  const Function &function = module->functions[0];
  CHECK(function.isEntry);
  CHECK(function.parameters[0].bytes == 128);
  CHECK(function.parameters[0].alignment == 64);
  CHECK(function.parameters[1].alignment == 8);
  CHECK(function.maximumThreads->at(0) == 384);
  CHECK(function.requiredCluster->at(0) == 2);
  CHECK(function.minimumBlocks == 1u);
  REQUIRE(function.body.size() == 3);
  CHECK(function.body[1].name == "bra");
  CHECK(function.body[1].operands[0].bits == 2);
  CHECK(function.body[2].guardNegated);
  CHECK(function.body[2].fullName() == "ld.global.b32");
  const SourceLocation &location = module->locations[function.body[2].location];
  CHECK(location.file == "dir/kernel.cpp");
  CHECK(location.line == 20);
  CHECK(location.column == 5);
}

TEST_CASE("instructions that the module's target lacks are refused") {
  const auto of = [](std::string target, std::string body) {
    return failure({.body = std::move(body), .target = std::move(target)});
  };
  CHECK_THAT(of("sm_80", "mapa.u64 %d1, %d2, 0;"),
             Contains("PTX line 13: 'mapa.u64' needs target sm_90 and later, but the module is for sm_80"));
  CHECK_THAT(of("sm_100a", "wgmma.fence.sync.aligned;"),
             Contains("'wgmma.fence.sync.aligned' needs target sm_90a, but the module is for sm_100a"));
  CHECK_THAT(of("sm_90a", "add.f32x2 %d1, %d2, %d3;"), Contains("needs target sm_100 and later"));
  CHECK_THAT(loadError(".version 8.0\n.target sm_90\n.entry k() { setmaxnreg.inc.sync.aligned.u32 40; }"),
             Contains("needs target sm_90a and later targets with an a or an f"));
  CHECK_THAT(loadError(".version 8.0\n.target compute_90"),
             Contains("PTX line 2: unknown target 'compute_90'"));
  CHECK(of("sm_103a", "tcgen05.mma.cta_group::1.kind::i8 [%r1], %d1, %d2, %r2, %p1;") ==
        "PTX line 13: 'tcgen05.mma.cta_group::1.kind::i8' needs target sm_100a or sm_110a, but the module is "
        "for sm_103a");
  CHECK(of("sm_110a", "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1, 3;") ==
        "PTX line 13: 'tcgen05.mma.cta_group::1.kind::f16' with scale-input-d needs target sm_100a, sm_100f, "
        "sm_103a or sm_103f, but the module is for sm_110a");
  CHECK(of("sm_120a", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;") ==
        "PTX line 13: 'tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32' needs target sm_100a, "
        "sm_100f, sm_103a, sm_103f, sm_110a or sm_110f, but the module is for sm_120a");
  CHECK(of("sm_100a", "add.f32x2 %d1, %d2, %d3;").empty());
  CHECK(of("sm_80", "mov.u32 %r1, 5;").empty());
}

TEST_CASE("names are local to their braces") {
  const auto out = output({.body = R"(
    mov.b32 %r1, 0;
    { .reg .b32 x; mov.b32 x, 5; setp.eq.u32 %p1, %t, 99; @%p1 bra again; add.u32 %r1, %r1, x; again: }
    { .reg .b32 x; mov.b32 x, 6; setp.eq.u32 %p1, %t, 99; @%p1 bra again; add.u32 %r1, %r1, x; again: }
    st.global.b32 [%mine], %r1;
  )"});
  CHECK(out[0] == 11);
}

TEST_CASE("unknown instructions and modifiers are named when the module is loaded") {
  CHECK(failure({.body = "frobnicate.b32 %r1, %r2;"}) == "PTX line 13: unknown instruction 'frobnicate.b32'");
  CHECK(failure({.body = "add.fast.s32 %r1, %r2, %r3;"}) ==
        "PTX line 13: unknown modifier '.fast' in 'add.fast.s32'");
  CHECK(failure({.body = "ld.global.nowhere.b32 %r1, [%out];"}) ==
        "PTX line 13: unknown modifier '.nowhere' in 'ld.global.nowhere.b32'");
}

TEST_CASE("what is left out on purpose is said to be when the module is loaded") {
  const auto refusal = [](std::string body, std::string target) {
    return failure({.body = std::move(body), .target = std::move(target)});
  };
  CHECK(refusal("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r5}];", "sm_80") ==
        "PTX line 13: 'tex.1d.v4.f32.s32' is not emulated");
  CHECK(refusal("istypep.texref %p1, %d1;", "sm_90a") == "PTX line 13: 'istypep.texref' is not emulated");
  CHECK(refusal("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, "
                "%r4}, {%r5, "
                "%r6, %r7, %r8}, {%r9, %r10, %r11, %r12}, {%r1, %r2, %r3, %r4}, %r13, 0;",
                "sm_80") ==
        "PTX line 13: 'mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32' is not "
        "emulated: "
        "sparse operands");
  CHECK(refusal("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, "
                "%r8}, {%r1, "
                "%r2, %r3, %r4};",
                "sm_80") ==
        "PTX line 13: mma.sync m8n8k4 of f16 and f16 into f16 is not an instruction that is "
        "emulated");
  CHECK_THAT(
      refusal(
          "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%r1, %r2, %r3, %r4}, %d1, %d2, %p1;",
          "sm_90a"),
      Contains("is not emulated: products of bits"));
  CHECK_THAT(
      refusal(
          "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {%r1, %r2, %r3, %r4}, %d1, %d2, %r5, 2, "
          "%p1, 1, 1, 0, 0;",
          "sm_90a"),
      Contains("the sparsity selector of 'wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16' is 2, but "
               "needs 0 or 1"));
  CHECK_THAT(
      refusal(
          "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3 {%r1, %r2, %r3, %r4}, %d1, %d2, %r5, 1, "
          "%p1, 1, 1;",
          "sm_90a"),
      Contains("the sparsity selector of 'wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3' is 1, but "
               "needs 0"));
  const std::string copy =
      "cp.async.bulk.tensor.4d.shared::cluster.global.{}.mbarrier::complete_tx::bytes [%r1], "
      "[%d1, {{%r2, %r3, %r4, %r5}}], [%r6], {{%h1, %h2}};";
  CHECK_THAT(refusal(fmt::format(fmt::runtime(copy), "im2col::w"), "sm_100a"),
             Contains("is not emulated: .im2col::w"));
  CHECK_THAT(
      refusal("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w [%d1, {%r2, %r3, %r4, %r5}], {%h1, "
              "%h2};",
              "sm_100a"),
      Contains("is not emulated: .im2col::w"));
  CHECK_THAT(
      refusal("cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], "
              "[%d1, {%r2, %r3}], [%r6], {};",
              "sm_90a"),
      Contains("needs 3 dimensions at least"));
  CHECK_THAT(
      refusal("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], "
              "[%d1, {%r2, %r3, %r4, %r5}], [%r6], {%h1};",
              "sm_90a"),
      Contains("needs 2 offsets"));
  CHECK_THAT(refusal("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
                     "[%r1], [%d1, "
                     "{%r2, %r3, %r4, %r5, %r6}], [%r7];",
                     "sm_100a"),
             Contains("is not emulated: .tile::gather4"));
  CHECK_THAT(refusal("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [%r1], 16, %h1;", "sm_100a"),
             Contains("is not emulated: masks of bytes"));
}

TEST_CASE("vectors of registers, whole and by element") {
  const auto out = output({.body = R"(
    .reg .v4 .b32 v; .reg .v2 .b32 w;
    mov.b32 v.x, 1; mov.b32 v.g, 2; mov.b32 v.z, 3; mov.b32 v.a, %t;
    mad.wide.u32 %d1, %t, 16, %out;
    st.global.v4.b32 [%d1], v;
    { .reg .v2 .b32 v; ld.global.v2.b32 v, [%d1+8]; add.u32 v.y, v.x, v.y; st.global.b32 [%d1], v.g; }
    ld.global.v2.b32 w, [%d1];
    add.u32 w.y, w.x, w.y; st.global.b32 [%d1+4], w.y;
  )",
                           .threads = 32});
  for (unsigned t = 0; t < 32; ++t) {
    CHECK(out[4 * t] == 3 + t);
    CHECK(out[4 * t + 1] == 5 + t);
    CHECK(out[4 * t + 2] == 3);
    CHECK(out[4 * t + 3] == t);
  }
  CHECK(failure({.body = ".reg .v2 .b32 v; mov.b32 %r1, v.z;"}) == "PTX line 13: unknown name 'v.z'");
  CHECK(failure({.body = ".reg .v2 .b32 v; .reg .v2 .b32 v;"}) ==
        "PTX line 13: register 'v' is declared twice");
  CHECK(failure({.body = ".reg .v3 .b32 v;"}) == "PTX line 13: expected a register type, but got '.v3'");
  CHECK_THAT(failure({.body = ".reg .v2 .b32 v<3>;"}), Contains("expected ';'"));
}

TEST_CASE("operands that do not fit are named when the module is loaded") {
  CHECK(failure({.body = "add.s32 %r1, %d2, %r3;"}) ==
        "PTX line 13: 'add.s32' needs 32 bits, but register '%d2' has 64 bits");
  CHECK(failure({.body = "add.s32 %r1, %r2;"}) == "PTX line 13: 'add.s32' takes 3 operands, but got 2");
  CHECK(failure({.body = "mov.b32 %r1, nothing;"}) == "PTX line 13: unknown name 'nothing'");
  CHECK(failure({.body = "mov.b32 %r1, %nothing;"}) == "PTX line 13: unknown name '%nothing'");
  CHECK(failure({.body = "bra nowhere;"}) == "PTX line 13: unknown label 'nowhere'");
  CHECK(failure({.body = "@%r1 ret;"}) == "PTX line 13: '%r1' is not a predicate register");
  CHECK(failure({.body = "add.pred %p1, %p2, %p3;"}) == "PTX line 13: 'add.pred' has no form for type .pred");
  CHECK(failure({.body = "ld.global.v2.b32 %r1, [%out];"}) ==
        "PTX line 13: 'ld.global.v2.b32' moves 2 elements, but got 1 registers");
  CHECK(failure({.body = "call.uni missing;"}) ==
        "PTX line 13: call of 'missing', which this module does not define");
}

TEST_CASE("statements know where they stand in the text") {
  const std::string text =
      head + ".visible .entry k() { .reg .pred p; x: @!p bra x; /* ; */ bar.sync 0 ; { ret; } }";
  auto module = parseModule(text);
  REQUIRE(module);
  std::vector<std::string> statements;
  for (const Statement &statement : module->functions[0].body)
    statements.push_back(text.substr(statement.begin, statement.end - statement.begin));
  CHECK(statements == std::vector<std::string>{"@!p bra x;", "bar.sync 0 ;", "ret;"});
}

TEST_CASE("broken text is an error, not a crash") {
  CHECK_THAT(loadError(""), Contains("the module has no .target"));
  CHECK_THAT(loadError(head + ".visible .entry k() { add.s32"), Contains("PTX line 4: expected"));
  CHECK_THAT(loadError(head + ".visible .entry k() { ret"),
             Contains("expected an operand, but the text ends"));
  CHECK_THAT(loadError(head + ".visible .entry k() { ret;"),
             Contains("expected '}' of 'k', but the text ends"));
  CHECK_THAT(loadError(head + ".visible .entry k(.param .u32"), Contains("expected a variable's name"));
  CHECK_THAT(loadError(head + "/* never closed"), Contains("unterminated comment"));
  CHECK_THAT(loadError(head + ".nonsense"), Contains("unknown directive '.nonsense'"));
  CHECK_THAT(loadError(head + ".visible .entry k() { mov.b32 %r1, 0f12; }"),
             Contains("a floating-point constant in bits needs 8 hexadecimal digits"));
  CHECK_THAT(loadError(head + ".visible .entry k() { .reg .b32 %r<4000000000>; }"),
             Contains("too many registers"));
  CHECK_THAT(loadError(head + ".visible .entry k() { .reg .b32 %r<4>; x: x: ret; }"),
             Contains("label 'x' is defined twice"));
  CHECK_THAT(loadError(head + ".visible .entry k() { mov.b32 " + std::string(5000, '{') + "; }"),
             Contains("operands are nested too deeply"));
  CHECK_THAT(loadError(".version 8.7\n.target sm_90a\n.address_size 32\n"),
             Contains("expected .address_size 64, but got 32"));
}

TEST_CASE("every prefix of a module is read without a crash") {
  const std::string text = moduleText({.body = R"(
    .shared .align 16 .b8 s[64];
    ld.global.v2.b32 {%r1, %r2}, [%in+4]; @!%p1 bra $x; { .reg .pred q; setp.eq.f32 q|%p2, 0f3F800000, 1.5; }
  $x: call.uni (q), f, (a);)",
                                       .header = ".const .b32 c[2] = {1, -2};"});
  for (size_t length = 0; length < text.size(); ++length)
    static_cast<void>(loadProgram(text.substr(0, length)));
}

TEST_CASE("messages have the names that functions have in C++") {
  CHECK(readableName("k") == "k");
  CHECK(readableName("_Z4axpyPfS_i") == "axpy");
  CHECK(readableName("_ZN2ns3sumEPfi") == "ns::sum");
  CHECK(readableName("_Z3sumIfEvPT_i") == "sum<float>");
  CHECK(readableName(
            "_Z3outIN2ns52AnArgumentThatIsVeryLongToReadAndLongerStillThanThatILi128ELi256ELi64EEEEvPT_") ==
        "out<...>");
  CHECK(readableName("_Znonsense") == "_Znonsense");
  // Nobody reads these to the end, as some of nvcc's.
  CHECK(readableName("_ZN2ns6kernelINS_6brokenZ") == "ns::kernel<...>");
  CHECK(readableName("_Z6kernelQQ") == "kernel");
  CHECK(readableName("_Z99kernel") == "_Z99kernel");
  auto program = loadProgram(head + ".entry _Z4axpyPfS_i() { trap; }");
  REQUIRE(program);
  Machine machine;
  machine.target = tlc::findTarget("sm_90a");
  const auto done = runGrid(**program, {.entry = "_Z4axpyPfS_i"}, MemoryMap({}), machine);
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message, Contains("of 'axpy', block (0, 0, 0), warp 0)"));
}
