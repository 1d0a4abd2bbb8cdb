// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the LLVM dialect to PTX: LLVM's NVPTX backend, set up for one target.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "runtime/target/Target.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace tlc {

class NvptxBackend {
public:
  /// Nothing, with an error at `location`, if this LLVM cannot generate code for the target.
  static mlir::FailureOr<NvptxBackend> create(const Target &target, mlir::Location location);

  NvptxBackend(NvptxBackend &&);
  ~NvptxBackend();

  /// A module of phase `nvvm` as LLVM IR, not optimised; null after an error.
  std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context) const;

  /// Removes what is redundant. Loops stay as they are: the compiler's own passes have decided on them.
  void optimize(llvm::Module &module) const;

  /// The PTX of an optimised module, which is used up.
  std::string emitPtx(llvm::Module &module) const;

private:
  explicit NvptxBackend(std::unique_ptr<llvm::TargetMachine> machine);
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// Adds variables that inline assembly refers to. The version is the higher one of what is emitted and what
/// these need: 87 is .version 8.7.
std::string joinPtx(std::string ptx, unsigned version, llvm::StringRef declarations);

/// The text of an LLVM module, for dumps.
std::string printLlvm(const llvm::Module &module);

} // namespace tlc
