// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which passes of LLVM's code generation run.
#include "test/unit/codegen/PtxOf.h"

using namespace tlc;
using namespace tlc::test;

namespace {

/// The PTX of a function that computes `first` of %a, %b and %c, and `second` in a block of so many stores.
std::string ptxWithBlock(const std::string &first, const std::string &second, int stores) {
  std::string text = R"mlir(llvm.func @products(%p: !llvm.ptr<1>, %a: i32, %b: i32, %c: i32, %any: i1) {
    %one = llvm.mlir.constant(1 : i32) : i32
    %two = llvm.mlir.constant(2 : i32) : i32
)mlir" + first + R"mlir(
    llvm.store volatile %first, %p : i32, !llvm.ptr<1>
    llvm.cond_br %any, ^block, ^end
  ^block:
)mlir";
  for (int i = 0; i < stores; ++i)
    text += "llvm.store volatile %a, %p : i32, !llvm.ptr<1>\n";
  text += second + R"mlir(
    llvm.store volatile %second, %p : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  })mlir";
  return ptxOf(text);
}

size_t products(const std::string &ptx) {
  return llvm::StringRef(ptx).count("mul.lo") + llvm::StringRef(ptx).count("mad.lo");
}

} // namespace

// The gate knows the passes by their names. If LLVM renames them, large functions take seconds again, and
// here is why.

TEST_CASE("n-ary reassociation runs in small functions, and is skipped for large ones", "[codegen]") {
  // (a * c) * b becomes the product of a * b and c. (Other passes do so with sums, or within one block.)
  const std::string first = "%first = llvm.mul %a, %b : i32\n",
                    second = "%other = llvm.mul %a, %c : i32\n%second = llvm.mul %other, %b : i32\n";
  CHECK(products(ptxWithBlock(first, second, 10)) == 2);
  CHECK(products(ptxWithBlock(first, second, 5500)) == 3);
}

TEST_CASE("strength is reduced in small functions, and not in large ones", "[codegen]") {
  // (a + 2) * b becomes (a + 1) * b + b.
  const std::string first = "%next = llvm.add %a, %one : i32\n%first = llvm.mul %next, %b : i32\n",
                    second = "%other = llvm.add %a, %two : i32\n%second = llvm.mul %other, %b : i32\n";
  CHECK(products(ptxWithBlock(first, second, 10)) == 1);
  CHECK(products(ptxWithBlock(first, second, 5500)) == 2);
}
