// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `compile`.
#include "tools/tlc/Compile.h"

#include "compiler/codegen/Ptxas.h"
#include "compiler/pipeline/Compiler.h"
#include "dialects/program/Program.h"
#include "runtime/target/Target.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

constexpr StringRef cubin = "cubin";

/// Machine code by the toolkit's assembler.
ExitCode assembleTo(StringRef output, StringRef ptx, const Target &target, Remarks remarks) {
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return fail("expected ptxas of the CUDA toolkit on PATH because --emit cubin needs it, but found none; "
                "--emit ptx does without");
  Expected<MachineCode> code = assemble(*ptxas, ptx, target);
  if (!code)
    return fail(toString(code.takeError()));
  for (const std::string &message : code->messages)
    errs() << message << '\n';
  if (remarks == Remarks::show)
    for (const KernelResources &kernel : code->kernels)
      errs() << kernel.entry << ": " << kernel.registers << " registers, " << kernel.stackBytes
             << " bytes of stack, " << kernel.spillStoreBytes << " bytes of spill stores, "
             << kernel.spillLoadBytes << " bytes of spill loads\n";
  if (Result<void> written = writeOutput(output, code->cubin); !written)
    return fail(written.error().message);
  return ExitCode::success;
}

} // namespace

CompileCommand::CompileCommand()
    : command("compile", "Compile a kernel or an .mlir file"),
      emit("emit", cl::sub(command), cl::value_desc("phase"), cl::init("ptx"),
           cl::desc("Phase to stop at (input ... nvvm, llvm, ptx), or cubin")),
      output("o", cl::sub(command), cl::value_desc("file"), cl::init("-"), cl::desc("Output file")),
      programs(command) {}

ExitCode CompileCommand::execute() const {
  std::optional<Phase> phase = emit == cubin ? Phase::ptx : parsePhase(emit.getValue());
  if (!phase) {
    SmallVector<StringRef> allowed(phaseNames.begin(), phaseNames.end());
    allowed.push_back(cubin);
    return failUsage(unknownValue("--emit", emit, allowed).message);
  }
  std::variant<SourceProgram, ExitCode> opened = programs.open();
  if (const ExitCode *code = std::get_if<ExitCode>(&opened))
    return *code;
  SourceProgram &program = *std::get_if<SourceProgram>(&opened);
  if (*phase < program.options.startFrom)
    return failUsage("expected --emit " + emit + " to come after --start-from " +
                     std::string(toString(program.options.startFrom)) + ", but it comes before");
  Compiler compiler(program.options);
  mlir::FailureOr<std::string> text = compiler.emit(*program.input.module, *phase, program.alignment);
  programs.report(compiler);
  if (mlir::failed(text)) {
    program.explainFailure();
    return ExitCode::failure;
  }
  if (emit == cubin) {
    const Target *named = program::findTarget(*program.input.module);
    return assembleTo(output, *text, named ? *named : *findTarget(program.options.target),
                      programs.remarks());
  }
  if (Result<void> written = writeOutput(output, *text); !written)
    return fail(written.error().message);
  return ExitCode::success;
}
