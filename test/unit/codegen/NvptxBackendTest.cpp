// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which passes of LLVM's code generation run.
#include "compiler/codegen/NvptxBackend.h"

#include "compiler/pipeline/Compiler.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/target/Target.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <catch2/catch.hpp>

using namespace tlc;

namespace {

/// The PTX of a function that computes a * b, and in a block of so many stores (a * c) * b, which n-ary
/// reassociation makes the product of a * b and c. (Other passes do so with sums, or within one block.)
std::string ptxWithBlock(int stores) {
  std::string text = R"mlir(llvm.func @products(%p: !llvm.ptr<1>, %a: i32, %b: i32, %c: i32, %any: i1) {
    %first = llvm.mul %a, %b : i32
    llvm.store volatile %first, %p : i32, !llvm.ptr<1>
    llvm.cond_br %any, ^block, ^end
  ^block:
)mlir";
  for (int i = 0; i < stores; ++i)
    text += "llvm.store volatile %a, %p : i32, !llvm.ptr<1>\n";
  text += R"mlir(
    %other = llvm.mul %a, %c : i32
    %second = llvm.mul %other, %b : i32
    llvm.store volatile %second, %p : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  })mlir";
  Compiler compiler({});
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = compiler.parse(text, "test.mlir", context.get());
  REQUIRE(module);
  mlir::FailureOr<NvptxBackend> backend = NvptxBackend::create(*findTarget("sm_90a"), module->getLoc());
  REQUIRE(mlir::succeeded(backend));
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule = backend->translate(*module, llvmContext);
  REQUIRE(llvmModule);
  return backend->emitPtx(*llvmModule);
}

} // namespace

// The gate knows the pass by its name. If LLVM renames it, large blocks take seconds again, and here is why.
TEST_CASE("n-ary reassociation runs in small blocks, and is skipped for huge ones", "[codegen]") {
  CHECK(llvm::StringRef(ptxWithBlock(10)).count("mul.lo") == 2);
  CHECK(llvm::StringRef(ptxWithBlock(9000)).count("mul.lo") == 3);
}
