// SPDX-License-Identifier: Apache-2.0
/// \file
/// The argument and flags of subcommands that compile a kernel, or a file of any phase.
#pragma once

#include "compiler/dsl/Module.h"
#include "compiler/pipeline/Compiler.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/ExitCode.h"
#include "tools/tlc/Messages.h"

#include "llvm/Support/CommandLine.h"

#include <memory>
#include <variant>

namespace tlc::driver {

/// A program that was traced or read.
struct SourceProgram {
  std::string source;     ///< as the command line names it
  CompileOptions options; ///< `startFrom` is the program's phase
  Alignment alignment = Alignment::aligned;
  dsl::ProgramModule input;
  bool isGuessed = false;                        ///< that a file is in phase input
  std::shared_ptr<const Artifact> artifact = {}; ///< of a kernel, from the cache; then `input` is empty

  /// The artifact's variant that `alignment` asks for; null where it has none.
  const Variant *variant() const;

  /// Says of a file that does not compile that it may be of a later phase than it was taken for.
  void explainFailure() const;
};

class ProgramFlags {
public:
  /// Registers the argument and the flags with `command`.
  explicit ProgramFlags(llvm::cl::SubCommand &command);

  /// What a command does with a kernel.
  enum class Wanted : uint8_t {
    input, ///< it compiles it
    ptx,   ///< it takes what is compiled, from the cache unless flags show the compiler at work
  };
  /// Traces a kernel, or reads a file. Prints what is wrong, and then returns the exit code.
  std::variant<SourceProgram, ExitCode> open(Format format, Wanted wanted = Wanted::input) const;
  /// Prints what compiling the program said, as the flags ask for.
  void report(const Compiler &compiler) const { report(compiler, remarks()); }
  void report(const Compiler &compiler, Remarks remarks) const;
  /// The end of a command whose program does not compile, after `report`.
  ExitCode fail(const SourceProgram &program, const Compiler &compiler, Format format) const;
  /// As the command line names it.
  const std::string &name() const { return source; }
  Remarks remarks() const { return flags.wantsRemarks() ? Remarks::show : Remarks::hide; }

private:
  std::variant<SourceProgram, ExitCode> readFile(SourceProgram program, Phase first, bool hasParameters,
                                                 Format format) const;
  std::variant<SourceProgram, ExitCode> traceKernel(SourceProgram program, Phase first,
                                                    const kernels::Definitions &definitions, Format format,
                                                    Wanted wanted) const;

  llvm::StringRef commandName;
  llvm::cl::opt<std::string> source;
  llvm::cl::opt<std::string> startFrom;
  CompileFlags flags;
};

} // namespace tlc::driver
