// SPDX-License-Identifier: Apache-2.0
/// \file
/// The PTX of functions of the LLVM dialect, by the backend alone: no pass of LLVM runs before code
/// generation.
#pragma once

#include "compiler/codegen/NvptxBackend.h"
#include "compiler/pipeline/Compiler.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/target/Target.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <catch2/catch.hpp>
#include <string>

namespace tlc::test {

inline std::string ptxOf(const std::string &text) {
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

} // namespace tlc::test
