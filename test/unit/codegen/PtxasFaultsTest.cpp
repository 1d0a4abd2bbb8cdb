// SPDX-License-Identifier: Apache-2.0
/// \file
/// How comparisons and conversions are written that ptxas would get wrong, and that others stay as they are.
#include "test/unit/codegen/PtxOf.h"

using namespace tlc;
using namespace tlc::test;

namespace {

/// The PTX of a function that stores `%r`, of the type, which `body` computes of %x and %y.
std::string ptxOfBody(const std::string &body, const std::string &type) {
  const std::string text = "llvm.func @f(%p: !llvm.ptr<1>, %x: f32, %y: f32, %i: i32, %h: i16) {\n" + body +
                           "llvm.store %r, %p : " + type + ", !llvm.ptr<1>\nllvm.return\n}";
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
