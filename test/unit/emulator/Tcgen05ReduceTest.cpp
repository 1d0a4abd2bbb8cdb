// SPDX-License-Identifier: Apache-2.0
/// \file
/// tcgen05.ld.red: the registers of tcgen05.ld, and each thread's extreme of them, which must be what min and
/// max give one register after the other.
#include "test/unit/emulator/Tcgen05Text.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

KernelText kernel(const std::string &body, std::string target = "sm_103a") {
  return {.body =
              tensorProlog(512) + "shl.b32 %r1, %w, 21; add.u32 %r1, %r1, %tm;\n" + body + tensorEpilog(512),
          .target = std::move(target),
          .threads = 128};
}

/// Every register of a thread gets bits of its own: of eight one is a NaN, one a zero; all are NaNs in
/// thread 5.
std::string registers(unsigned count) {
  std::string body;
  for (unsigned r = 0; r < count; ++r)
    body += fmt::format("mad.lo.u32 %r2, %t, {1}, {2}; mul.lo.u32 %r2, %r2, 0x9E3779B1; mov.b32 %q{0}, %r2;\n"
                        "and.b32 %r3, %r2, 0x700; setp.eq.u32 %p2, %r3, 0x100; setp.eq.u32 %p3, %r3, 0x200;\n"
                        "or.b32 %r3, %r2, 0x7F800001; @%p2 mov.b32 %q{0}, %r3;\n"
                        "and.b32 %r3, %r2, 0x80000000; @%p3 mov.b32 %q{0}, %r3;\n"
                        "setp.eq.u32 %p2, %t, 5; @%p2 mov.b32 %q{0}, 0xFFC00001;\n",
                        r, 2 * r + 1, 77 * r + 13);
  return body;
}

/// The extreme by scalar instructions, in %r8.
std::string byThreads(unsigned count, const std::string &operation, bool isAbsolute) {
  std::string body, mask = isAbsolute ? "0x7FFFFFFF" : "0xFFFFFFFF";
  for (unsigned r = 0; r < count; ++r)
    body += fmt::format("and.b32 %r9, %q{}, {};\n", r, mask) +
            (r == 0 ? "mov.b32 %r8, %r9;\n" : operation + " %r8, %r8, %r9;\n");
  return body;
}

struct Form {
  std::string reduction, scalar;
  bool isAbsolute = false;
};

const Form forms[] = {
    {"max.f32", "max.f32"},           {"min.f32", "min.f32"},
    {"max.NaN.f32", "max.NaN.f32"},   {"min.NaN.f32", "min.NaN.f32"},
    {"max.abs.f32", "max.f32", true}, {"min.abs.NaN.f32", "min.NaN.f32", true},
    {"max.u32", "max.u32"},           {"min.u32", "min.u32"},
    {"max.s32", "max.s32"},           {"s32.min", "min.s32"}, // the order of the ISA's example
};

/// Differences between the extremes, and between the registers loaded and those stored.
unsigned differences(const Form &form, unsigned repeat, std::string_view shape, const std::string &target) {
  const bool isSplit = shape == "16x32bx2";
  const std::string list = registerList(repeat), split = isSplit ? fmt::format(", {}", repeat) : "";
  std::string body = registers(repeat) + fmt::format("tcgen05.st.sync.aligned.{}.x{}.b32 [%r1]{}, {};\n"
                                                     "tcgen05.wait::st.sync.aligned;\nmov.b32 %r7, 0;\n",
                                                     shape, repeat, split, list);
  for (unsigned r = 0; r < repeat; ++r)
    body += fmt::format("mul.lo.u32 %r7, %r7, 31; xor.b32 %r7, %r7, %q{};\n", r);
  body += fmt::format("tcgen05.ld.red.sync.aligned.{}.x{}.{} {}, %r6, [%r1]{};\n"
                      "tcgen05.wait::ld.sync.aligned;\nmov.b32 %r5, 0;\n",
                      shape, repeat, form.reduction, list, split);
  for (unsigned r = 0; r < repeat; ++r)
    body += fmt::format("mul.lo.u32 %r5, %r5, 31; xor.b32 %r5, %r5, %q{};\n", r);
  body += byThreads(repeat, form.scalar, form.isAbsolute) +
          "sub.u32 %r5, %r5, %r7; st.global.b32 [%mine], %r6; st.global.b32 [%mine+512], %r8;\n"
          "st.global.b32 [%mine+1024], %r5;\n";
  KernelText text = kernel(body, target);
  text.outWords = 384;
  const std::vector<uint32_t> out = output(text);
  unsigned wrong = 0;
  for (unsigned t = 0; t < 128; ++t)
    wrong += (out[t] != out[128 + t]) + (out[256 + t] != 0);
  return wrong;
}

} // namespace

TEST_CASE("tcgen05.ld.red loads, and gives the extreme of each thread's registers") {
  for (const Form &form : forms)
    for (unsigned repeat : {2u, 32u, 64u})
      for (std::string_view shape : {"32x32b", "16x32bx2"}) {
        INFO(form.reduction << " x" << repeat << " " << shape);
        CHECK(differences(form, repeat, shape, repeat == 2 ? "sm_110a" : "sm_103a") == 0);
      }
  CHECK(differences(forms[0], 128, "32x32b", "sm_103a") == 0);
}

TEST_CASE("a NaN loses, or wins with .NaN, and is the canonical one") {
  const auto extreme = [](std::string_view reduction, uint32_t first, uint32_t second) {
    return output(kernel(fmt::format(R"(
    mov.b32 %q0, {1}; mov.b32 %q1, {2};
    tcgen05.st.sync.aligned.32x32b.x2.b32 [%r1], {{%q0, %q1}};
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.red.sync.aligned.32x32b.x2.{0} {{%q0, %q1}}, %r6, [%r1];
    tcgen05.wait::ld.sync.aligned;
    st.global.b32 [%mine], %r6;
)",
                                     reduction, first, second)))[0];
  };
  const uint32_t nan = 0xFFC00001, one = bits(1.0f), minusTwo = bits(-2.0f), minusZero = 1u << 31;
  CHECK(extreme("max.f32", nan, minusTwo) == minusTwo);
  CHECK(extreme("max.f32", one, nan) == one);
  CHECK(extreme("max.NaN.f32", one, nan) == 0x7FFFFFFF);
  CHECK(extreme("min.abs.NaN.f32", nan, one) == 0x7FFFFFFF);
  CHECK(extreme("max.f32", nan, nan) == 0x7FFFFFFF);
  CHECK(extreme("max.abs.f32", one, minusTwo) == bits(2.0f));
  CHECK(extreme("min.f32", one, minusTwo) == minusTwo);
  CHECK(extreme("max.f32", minusZero, 0) == 0);
  CHECK(extreme("min.f32", 0, minusZero) == minusZero);
  CHECK(extreme("max.s32", minusTwo, one) == one);
  CHECK(extreme("max.u32", minusTwo, one) == minusTwo);
}

TEST_CASE("the extreme of tcgen05.ld.red is used after tcgen05.wait::ld") {
  const auto found = [](const std::string &before, const std::string &after) {
    return check(kernel(R"(
    mov.b32 %q0, 1; mov.b32 %q1, 2;
    tcgen05.st.sync.aligned.32x32b.x2.b32 [%r1], {%q0, %q1};
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%q0, %q1}, %r6, [%r1];
    )" + before + "st.global.b32 [%mine], %r6;\n" +
                        after));
  };
  const std::string wait = "tcgen05.wait::ld.sync.aligned;\n";
  CHECK(found(wait, "") == "");
  CHECK_THAT(found("", wait), Contains("a register of a load under way is used") &&
                                  Contains("missing: tcgen05.wait::ld between them"));
}

TEST_CASE("tcgen05.ld.red has no other forms, and not on every target") {
  const auto error = [](const std::string &form, std::string target = "sm_103a") {
    return failure(kernel("tcgen05.ld.red.sync.aligned." + form + ";\n", std::move(target)));
  };
  CHECK_THAT(error("32x32b.x1.max.f32 {%q0}, %r6, [%r1]"),
             Contains("reduces x2 to x128 of 32x32b or 16x32bx2 alone"));
  CHECK_THAT(error("16x64b.x2.max.f32 {%q0, %q1}, %r6, [%r1]"),
             Contains("reduces x2 to x128 of 32x32b or 16x32bx2 alone"));
  CHECK_THAT(error("32x32b.x2.max.b32 {%q0, %q1}, %r6, [%r1]"), Contains("is not a known form"));
  CHECK_THAT(error("32x32b.x2.add.f32 {%q0, %q1}, %r6, [%r1]"), Contains("is not a known form"));
  CHECK_THAT(error("32x32b.x2.max.abs.s32 {%q0, %q1}, %r6, [%r1]"), Contains("unknown modifier '.abs'"));
  CHECK_THAT(error("32x32b.x2.pack::16b.max.f32 {%q0, %q1}, %r6, [%r1]"),
             Contains("unknown modifier '.pack::16b'"));
  CHECK_THAT(error("32x32b.x4.max.f32 {%q0, %q1}, %r6, [%r1]"), Contains("moves 4 registers, but got 2"));
  CHECK_THAT(error("32x32b.x2.max.f32 {%q0, %q1}, %r6, [%r1]", "sm_100a"),
             Contains("needs target sm_103a, sm_103f, sm_110a or sm_110f, but the module is for sm_100a"));
}
