// SPDX-License-Identifier: Apache-2.0
/// \file
/// Crash reproducers, which `--crash-reproducer` writes: a module, and passes of which one fails on it.
#pragma once

#include "compiler/pipeline/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/support/Result.h"
#include "tools/tlc/ExitCode.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tlc::driver {

/// How passes fail on a module.
struct PassFailure {
  enum class Kind {
    error,   ///< a pass reports one
    crash,   ///< the process of the passes ends
    timeout, ///< it does not
  };
  Kind kind = Kind::error;
  std::string pass = {};     ///< "tile-select-products"; empty: the process has not come to one
  std::string location = {}; ///< of the error
  std::string message = {};  ///< of the first error, or how the process ended

  /// The same kind, pass and message, whatever numbers are in it.
  bool isLike(const PassFailure &other) const;
  /// "pass tile-select-products reports an error: ...", "pass tile-place-fences crashes: ended by signal 11
  /// (...)"
  std::string text() const;
};
/// "error", "crash", "timeout".
llvm::StringRef nameOf(PassFailure::Kind kind);

struct Reproducer {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// In the order in which they run. Each is the text of a pipeline with one pass: "cse", "tile.kernel(cse)".
  std::vector<std::string> passes;
  bool verifiesEach = false; ///< the module, after each pass

  /// From the text of a file that `name` names. What is wrong with it is diagnosed in the context.
  static std::optional<Reproducer> parse(llvm::StringRef text, llvm::StringRef name,
                                         mlir::MLIRContext *context);
  /// The text of the file.
  std::string print() const;
  Reproducer copy() const;
};

/// Where diagnostics of the passes go, and what else their process prints.
enum class PassOutput { hide, show };

/// Calls `make` in a process of its own and runs the passes there. Nothing if all succeed, or if `make` gives
/// nothing. An error if there is no room for a process.
Result<std::optional<PassFailure>> runPasses(const std::function<std::optional<Reproducer>()> &make,
                                             std::chrono::seconds limit, PassOutput output);

/// The argument and flags of subcommands that run a reproducer.
class ReproducerFlags {
public:
  explicit ReproducerFlags(llvm::cl::SubCommand &command);

  /// A reproducer that was read, and how it fails.
  struct Opened {
    std::unique_ptr<mlir::MLIRContext> context;
    Reproducer reproducer;
    PassFailure failure;
    std::chrono::seconds duration; ///< of the run
  };
  /// Reads and runs it. Prints what is wrong, that no pass fails among it, and then gives back how to end.
  std::variant<Opened, ExitCode> open(PassOutput output) const;

  llvm::StringRef file() const { return source; }
  std::chrono::seconds limit() const { return std::chrono::seconds(seconds); }
  bool wantsJson() const { return json; }

private:
  llvm::StringRef commandName;
  llvm::cl::opt<std::string> source;
  llvm::cl::opt<unsigned> seconds;
  llvm::cl::opt<bool> json;
};

} // namespace tlc::driver
