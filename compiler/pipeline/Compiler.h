// SPDX-License-Identifier: Apache-2.0
/// \file
/// The compiler: a module of any phase goes in, the text of a later phase or an artifact comes out.
#pragma once

#include "compiler/pipeline/Diagnostics.h"
#include "compiler/pipeline/Options.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LLVM.h"
#include "runtime/artifact/Artifact.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tlc {

/// A context that knows every dialect of the compiler and works in the thread that calls it.
std::unique_ptr<mlir::MLIRContext> createContext();
/// Makes a context that was created elsewhere know the same.
void prepareContext(mlir::MLIRContext &context);

/// Reads a module from text; `name` is for locations. Null if that fails, which is diagnosed in the context,
/// or if MLIR's parser would not survive the text.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::StringRef text, llvm::StringRef name,
                                              const mlir::ParserConfig &config);

/// The phase that the module says it is in (`program.phase`), as what the compiler has written does; or
/// nothing.
std::optional<Phase> declaredPhase(mlir::ModuleOp module);
/// Whether a module has what no program has before phase `atoms`.
bool isPastInput(mlir::ModuleOp module);

/// Time spent on the way to a phase, in all variants.
struct PhaseTime {
  Phase phase;
  double milliseconds = 0;
  double cpuMilliseconds = 0; ///< processor time of the process
};

/// Called after each pass with its argument (`infer-layouts`), the operation that it ran on, and the module
/// around that. Before the first pass it is called with an empty name. The pass that ends a phase,
/// `finish-phase`, comes last, when the module says its phase.
using PassObserver =
    std::function<void(llvm::StringRef pass, mlir::Operation *anchor, mlir::ModuleOp module)>;

/// Compiles modules with one set of options. What it says about them is collected, not printed.
class Compiler {
public:
  explicit Compiler(CompileOptions options) : options(std::move(options)) {}

  /// Has `observer` called in all compilations from now on.
  void observe(PassObserver observer) { passObserver = std::move(observer); }

  /// As `parseModule`.
  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text, llvm::StringRef name,
                                          mlir::MLIRContext *context);

  /// The whole way. The artifact has a variant for aligned tensors and a general one, or only the latter if
  /// alignment makes no difference. A module that starts after `promoted` is compiled once, as it is.
  mlir::FailureOr<Artifact> compile(mlir::ModuleOp module, llvm::StringRef name);

  /// The text of the module in phase `phase`.
  mlir::FailureOr<std::string> emit(mlir::ModuleOp module, Phase phase, Alignment alignment);

  /// The module in phase `phase`, `nvvm` at most; null if compilation fails.
  mlir::OwningOpRef<mlir::ModuleOp> lower(mlir::ModuleOp module, Phase phase, Alignment alignment);

  const std::vector<Diagnostic> &diagnostics() const { return collected; }
  /// In order; phases that were not passed are missing.
  const std::vector<PhaseTime> &times() const { return measured; }

private:
  CompileOptions options;
  PassObserver passObserver;
  std::vector<Diagnostic> collected;
  std::vector<PhaseTime> measured;
};

} // namespace tlc
