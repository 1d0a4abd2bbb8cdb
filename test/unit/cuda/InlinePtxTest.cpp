// SPDX-License-Identifier: Apache-2.0
/// \file
/// Modules of PTX taken apart: what becomes a block of inline assembly, and what is refused.
#include "compiler/cuda/InlinePtx.h"

#include <catch2/catch.hpp>

using namespace tlc;
using Catch::Contains;

namespace {

std::string module(const std::string &items) {
  return "//\n// made by hand\n//\n.version 8.4\n.target sm_90a\n.address_size 64\n" + items;
}

InlinePtx taken(const std::string &items) {
  Result<InlinePtx> result = inlinePtx(module(items), "w");
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *result;
}

} // namespace

TEST_CASE("a function becomes a block with registers of its own", "[cuda]") {
  InlinePtx ptx = taken(".visible .func  (.param .b32 func_retval0) w0(\n"
                        "\t.param .b32 w0_param_0,\n\t.param .b32 w0_param_1\n)\n{\n"
                        "\t.reg .f32 \t%f<4>;\n"
                        "\tld.param.f32 \t%f1, [w0_param_0];\n"
                        "\tld.param.f32 \t%f2, [w0_param_1]; // the second one\n"
                        "\tadd.f32 \t%f3, %f1, %f2;\n"
                        "\tst.param.f32 \t[func_retval0+0], %f3;\n"
                        "\tret;\n}\n");
  CHECK(ptx.version == 84);
  CHECK(ptx.declarations.empty());
  CHECK(ptx.bodies.at("w0") == "{\n"
                               ".reg .f32 \t%tlc_f<4>;\n"
                               "mov.f32 \t%tlc_f1, $1;\n"
                               "mov.f32 \t%tlc_f2, $2;\n"
                               "add.f32 \t%tlc_f3, %tlc_f1, %tlc_f2;\n"
                               "mov.f32 \t$0, %tlc_f3;\n"
                               "}");
}

TEST_CASE("labels are the block's own, and returns go to its end", "[cuda]") {
  std::string body = taken(".func (.param .b32 func_retval0) w(.param .b32 w_param_0)\n{\n"
                           ".reg .pred %p<2>;\n.reg .b32 %r<2>;\n"
                           "ld.param.u32 %r1, [w_param_0];\n"
                           "st.param.b32 [func_retval0+0], %r1;\n"
                           "setp.eq.s32 %p1, %r1, %laneid;\n"
                           "@%p1 bra $L__BB0_2;\nret;\n"
                           "$L__BB0_2:\nst.param.b32 [func_retval0+0], 0;\nret;\n}\n")
                         .bodies.at("w");
  CHECK_THAT(body, Contains("@%tlc_p1 bra $$L__BB0_2_${:uid};\nbra $$tlc_end_${:uid};"));
  CHECK_THAT(body, Contains("%tlc_r1, %laneid;"));
  CHECK_THAT(body, Contains("mov.b32 $0, 0;\n$$tlc_end_${:uid}:\n}"));
}

TEST_CASE("variables join the module", "[cuda]") {
  InlinePtx ptx =
      taken(".visible .const .align 4 .u32 three = 3;\n"
            ".global .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 0, 0, 0};\n"
            ".func (.param .b32 func_retval0) w()\n{\n.reg .b32 %r<2>;\nld.const.u32 %r1, [three];\n"
            "st.param.b32 [func_retval0+0], %r1;\nret;\n}\n");
  CHECK(ptx.declarations ==
        std::vector<std::string>{".const .align 4 .u32 three = 3;",
                                 ".global .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 0, 0, 0};"});
  CHECK_THAT(ptx.bodies.at("w"), Contains("ld.const.u32 %tlc_r1, [three];"));
}

TEST_CASE("what debuggers read is left out", "[cuda]") {
  InlinePtx ptx = taken(".file\t1 \"program\"\n"
                        ".func (.param .b32 func_retval0) w(.param .b32 w_param_0)\n{\n.reg .b32 %r<2>;\n"
                        ".loc\t1 2 3\nld.param.u32 %r1, [w_param_0];\n.loc 1 3 3, function_name $L1, "
                        "inlined_at 1 2 3\n"
                        "st.param.b32 [func_retval0+0], %r1;\nret;\n}\n"
                        ".section\t.debug_str\n{\n$L__info_string0:\n.b8 116,108,99,0\n}\n");
  CHECK(ptx.declarations.empty());
  CHECK(ptx.bodies.at("w") == "{\n.reg .b32 %tlc_r<2>;\nmov.u32 %tlc_r1, $1;\nmov.b32 $0, %tlc_r1;\n}");
}

TEST_CASE("what a block of assembly cannot have is refused", "[cuda]") {
  auto message = [](const std::string &items) {
    Result<InlinePtx> result = inlinePtx(module(items), "w");
    REQUIRE_FALSE(result);
    return result.error().message;
  };
  CHECK_THAT(message(".extern .func (.param .b32 func_retval0) vprintf\n(.param .b64 a, .param .b64 b)\n;\n"),
             Contains("it uses 'vprintf', which is not in it"));
  CHECK_THAT(message(".shared .align 4 .b8 memory[128];\n"), Contains("'memory' is shared memory"));
  CHECK_THAT(message(".func (.param .b32 func_retval0) helper(.param .b32 helper_param_0)\n{\nret;\n}\n"),
             Contains("it calls 'helper' and does not inline it"));
}
