// SPDX-License-Identifier: Apache-2.0
/// \file
/// How comparisons and conversions are written that ptxas would get wrong, and that others stay as they are.
#include "test/unit/codegen/PtxOf.h"

using namespace tlc;
using namespace tlc::test;

namespace {

/// The PTX of a function that stores `%r`, of the type, which `body` computes of %x and %y.
std::string ptxOfBody(const std::string &body, const std::string &type) {
  const std::string text = "llvm.func @f(%p: !llvm.ptr<1>, %x: f32, %y: f32, %i: i32, %h: i16, "
                           "%l: i64, %g: !llvm.ptr<1>) {\n%no = llvm.mlir.constant(false) : i1\n%zero = "
                           "llvm.mlir.constant(0 : i32) : i32\n"
                           "%some = llvm.icmp \"sgt\" %i, %zero : i32\n" +
                           body + "llvm.store %r, %p : " + type + ", !llvm.ptr<1>\nllvm.return\n}";
  return ptxOf(text);
}

std::string comparison(const std::string &predicate, const std::string &left, const std::string &right) {
  return ptxOfBody("%c = llvm.mlir.constant(-5.0e-1 : f32) : f32\n%n = llvm.uitofp %i : i32 to f32\n"
                   "%b = llvm.fcmp \"" +
                       predicate + "\" " + left + ", " + right + " : f32\n%r = llvm.zext %b : i1 to i32\n",
                   "i32");
}

} // namespace

TEST_CASE("ordered comparisons with a constant are the opposite of unordered ones", "[codegen]") {
  for (auto [predicate, opposite] :
       {std::pair("ogt", "leu"), std::pair("oge", "ltu"), std::pair("olt", "geu"), std::pair("ole", "gtu")})
    for (bool isLeft : {false, true}) {
      const std::string ptx = isLeft ? comparison(predicate, "%c", "%x") : comparison(predicate, "%x", "%c");
      CHECK_THAT(ptx, Catch::Contains("setp." + std::string(opposite) + ".f32 q, ") &&
                          Catch::Contains("not.pred"));
    }
}

TEST_CASE("other comparisons stay as they are", "[codegen]") {
  CHECK_THAT(comparison("ogt", "%x", "%y"), Catch::Contains("setp.gt.f32"));
  CHECK_THAT(comparison("ugt", "%x", "%c"), Catch::Contains("setp.gtu.f32"));
  CHECK_THAT(comparison("oeq", "%x", "%c"), Catch::Contains("setp.eq.f32"));
  CHECK_THAT(comparison("ogt", "%n", "%c"), !Catch::Contains("not.pred")); // no NaN
}

TEST_CASE("pairs of floats of 8 bits are converted from words", "[codegen]") {
  for (const char *element : {"e4m3", "e5m2"}) {
    const std::string name = element;
    const std::string ptx =
        ptxOfBody("%high = llvm.mlir.constant(16 : i32) : i32\n%s = llvm.lshr %i, %high : i32\n"
                  "%u = llvm.trunc %s : i32 to i16\n%r = llvm.call_intrinsic \"llvm.nvvm." +
                      name + "x2.to.f16x2.rn\"(%u) : (i16) -> vector<2xf16>\n",
                  "vector<2xf16>");
    CHECK_THAT(ptx, Catch::Contains("cvt.u16.u32 pair, %") &&
                        Catch::Contains("cvt.rn.f16x2." + name + "x2 %") && Catch::Contains("x2 %r") &&
                        Catch::Contains(", pair;"));
  }
}

TEST_CASE("absolute values of integers are arithmetic", "[codegen]") {
  auto absolute = [](const std::string &number, const std::string &type) {
    return ptxOfBody("%r = llvm.call_intrinsic \"llvm.abs." + type + "\"(" + number + ", %no) : (" + type +
                         ", i1) -> " + type + "\n",
                     type);
  };
  CHECK_THAT(absolute("%l", "i64"),
             Catch::Contains("shr.s64 sign, %") && Catch::Contains("sub.s64 %") && !Catch::Contains("abs."));
  for (const auto &[number, type] : {std::pair("%i", "i32"), {"%h", "i16"}})
    CHECK_THAT(absolute(number, type), Catch::Contains("shr.s32 sign, %") && Catch::Contains("sub.s32 %") &&
                                           !Catch::Contains("abs."));
  // Also where that of the least integer is of no interest.
  CHECK_THAT(ptxOfBody("%yes = llvm.mlir.constant(true) : i1\n"
                       "%r = llvm.call_intrinsic \"llvm.abs.i64\"(%l, %yes) : (i64, i1) -> i64\n",
                       "i64"),
             Catch::Contains("shr.s64 sign, %") && !Catch::Contains("abs."));
  // LLVM would make an absolute value of the choice.
  const std::string negation = "%z = llvm.mlir.constant(0 : i32) : i32\n%n = llvm.sub %z, %i : i32\n";
  CHECK_THAT(ptxOfBody(negation + "%c = llvm.icmp \"slt\" %i, %z : i32\n"
                                  "%r = llvm.select %c, %n, %i : i1, i32\n",
                       "i32"),
             Catch::Contains("shr.s32 sign, %") && !Catch::Contains("abs."));
}

TEST_CASE("accesses with a guard that is false are left out", "[codegen]") {
  for (bool guard : {false, true}) {
    const std::string predicate = guard ? "%some" : "%no";
    const std::string load =
        ptxOfBody("%r = llvm.inline_asm has_side_effects \"mov.b32 $0, 0;\\0A@$2 ld.global.b32 $0, [$1];\", "
                  "\"=&r,l,b\" %g, " +
                      predicate + " : (!llvm.ptr<1>, i1) -> i32\n",
                  "i32");
    CHECK((load.find("ld.global.b32") != std::string::npos) == guard);
    const std::string store =
        ptxOfBody("%r = llvm.add %i, %i : i32\n"
                  "llvm.inline_asm has_side_effects \"@$1 st.global.b32 [$0], $2;\", \"l,b,r\" %g, " +
                      predicate + ", %r : (!llvm.ptr<1>, i1, i32) -> ()\n",
                  "i32");
    CHECK((store.find("@%p") != std::string::npos) == guard);
  }
}

TEST_CASE("the sign of floats of 16 bits is changed by bitwise operations", "[codegen]") {
  for (const std::string type : {"f16", "bf16"}) {
    const std::string number =
        "%a = llvm.load %g : !llvm.ptr<1> -> " + type + "\n%s = llvm.fadd %a, %a : " + type + "\n";
    const std::string negated = ptxOfBody(number + "%r = llvm.fneg %s : " + type + "\n", type);
    CHECK_THAT(negated,
               Catch::Contains("xor.b16") && Catch::Contains(", 0x8000;") && !Catch::Contains("neg."));
    const std::string absolute =
        ptxOfBody(number + "%r = llvm.intr.fabs(%s) : (" + type + ") -> " + type + "\n", type);
    CHECK_THAT(absolute, Catch::Contains("or.b16 negative, %") && Catch::Contains(", negative, 0x8000;") &&
                             !Catch::Contains("abs."));
    const std::string copied = ptxOfBody(
        number + "%r = llvm.intr.copysign(%s, %a) : (" + type + ", " + type + ") -> " + type + "\n", type);
    CHECK_THAT(copied, Catch::Contains("or.b16 sign, %") && !Catch::Contains("and.b16"));
    const std::string pair = "vector<2x" + type + ">";
    const std::string pairs =
        ptxOfBody("%a = llvm.load %g : !llvm.ptr<1> -> " + pair + "\n%n = llvm.fneg %a : " + pair +
                      "\n%s = llvm.fadd %n, %a : " + pair + "\n%r = llvm.intr.fabs(%s) : (" + pair + ") -> " +
                      pair + "\n",
                  pair);
    CHECK_THAT(pairs, Catch::Contains("xor.b32 %") && Catch::Contains("or.b32 negative, %") &&
                          !Catch::Contains("neg.") && !Catch::Contains("abs."));
  }
  CHECK_THAT(ptxOfBody("%r = llvm.fneg %x : f32\n", "f32"), Catch::Contains("neg.f32"));
}

TEST_CASE("negations of which a maximum is taken subtract from an unknown zero", "[codegen]") {
  const std::string negation = "%z = llvm.mlir.constant(0 : i32) : i32\n%n = llvm.sub %z, %i : i32\n";
  const std::string maximum = ptxOfBody(
      negation + "%k = llvm.zext %h : i16 to i32\n%r = llvm.intr.smax(%n, %k) : (i32, i32) -> i32\n", "i32");
  CHECK_THAT(maximum, Catch::Contains("mul.lo.s32 zero, %") && Catch::Contains("sub.s32 %r") &&
                          !Catch::Contains("neg."));
  CHECK_THAT(ptxOfBody(negation + "%r = llvm.mul %n, %n : i32\n", "i32"), !Catch::Contains("zero, "));
}

TEST_CASE("a loop's register is not the one that something was computed of before", "[codegen]") {
  auto loop = [](const std::string &start) {
    return ptxOfBody("%c = llvm.mlir.constant(128 : i32) : i32\n" + start +
                         "llvm.br ^loop(%a, %zero : i32, i32)\n"
                         "^loop(%at: i32, %sum: i32):\n"
                         "%next = llvm.mul %at, %c : i32\n%r = llvm.xor %sum, %o : i32\n"
                         "%more = llvm.icmp \"slt\" %next, %r : i32\n"
                         "llvm.cond_br %more, ^loop(%next, %r : i32, i32), ^end\n^end:\n",
                     "i32");
  };
  CHECK_THAT(loop("%a = llvm.mul %i, %i : i32\n%o = llvm.add %a, %c : i32\n"),
             Catch::Contains("// begin inline asm\n\tmov.b32 %r"));
  const std::string other = "%o = llvm.add %a, %c : i32\n";
  CHECK_THAT(loop("%a = llvm.add %i, %zero : i32\n" + other), // a parameter
             Catch::Contains("// begin inline asm\n\tmov.b32 %r"));
  CHECK_THAT(loop("%a = nvvm.read.ptx.sreg.tid.x : i32\n" + other),
             Catch::Contains("// begin inline asm\n\tmov.b32 %r"));
  CHECK_THAT(loop("%a = llvm.mul %i, %i : i32\n%o = llvm.add %i, %c : i32\n"),
             !Catch::Contains("inline asm"));
  CHECK_THAT(loop("%a = llvm.add %c, %c : i32\n%o = llvm.add %i, %a : i32\n"),
             !Catch::Contains("inline asm"));
}
