// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `compile`.
#include "tools/tlc/Compile.h"

#include "compiler/codegen/Ptxas.h"
#include "compiler/pipeline/Compiler.h"
#include "dialects/program/Program.h"
#include "runtime/target/Target.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"

#include "llvm/Support/JSON.h"
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

struct Compiled {
  StringRef program, target, phase, output;
};

void printJson(const Compiled &compiled, const Compiler &compiler) {
  json::OStream os(outs());
  os.object([&] {
    os.attribute("program", json::fixUTF8(compiled.program));
    os.attribute("target", compiled.target);
    os.attribute("phase", compiled.phase);
    os.attribute("output", json::fixUTF8(compiled.output));
    os.attributeArray("remarks", [&] {
      for (const tlc::Diagnostic &diagnostic : compiler.diagnostics())
        if (std::optional<Remark> remark = toRemark(diagnostic))
          os.object([&] {
            os.attribute("id", remark->id);
            os.attribute("location", json::fixUTF8(remark->location));
            os.attribute("message", json::fixUTF8(remark->message));
          });
    });
    os.attributeArray("times", [&] {
      for (const PhaseTime &time : compiler.times())
        os.object([&] {
          os.attribute("phase", StringRef(toString(time.phase)));
          os.attribute("milliseconds", time.milliseconds);
          os.attribute("cpu_milliseconds", time.cpuMilliseconds);
        });
    });
  });
  outs() << '\n';
}

} // namespace

CompileCommand::CompileCommand()
    : command("compile", "Compile a kernel or an .mlir file"),
      emit("emit", cl::sub(command), cl::value_desc("phase"), cl::init("ptx"),
           cl::desc("Phase to stop at (input ... nvvm, llvm, ptx), or cubin")),
      output("o", cl::sub(command), cl::value_desc("file"), cl::init("-"), cl::desc("Output file")),
      json("json", cl::sub(command),
           cl::desc("Report as one JSON object; the program goes to the file of -o")),
      programs(command) {}

ExitCode CompileCommand::execute() const {
  std::optional<Phase> phase = emit == cubin ? Phase::ptx : parsePhase(emit.getValue());
  if (!phase) {
    SmallVector<StringRef> allowed(phaseNames.begin(), phaseNames.end());
    allowed.push_back(cubin);
    return failUsage(unknownValue("--emit", emit, allowed).message);
  }
  if (json && output == "-")
    return failUsage("expected -o with --json because both would go to standard output");
  const auto wanted = *phase == Phase::ptx && !json ? ProgramFlags::Wanted::ptx : ProgramFlags::Wanted::input;
  std::variant<SourceProgram, ExitCode> opened = programs.open(json ? Format::json : Format::text, wanted);
  if (const ExitCode *code = std::get_if<ExitCode>(&opened))
    return *code;
  SourceProgram &program = *std::get_if<SourceProgram>(&opened);
  if (*phase < program.options.startFrom)
    return failUsage("expected --emit " + emit + " to come after --start-from " +
                     std::string(toString(program.options.startFrom)) + ", but it comes before");
  const Heartbeat heartbeat([&] { return "compiling " + program.source; });
  Compiler compiler(program.options);
  mlir::FailureOr<std::string> text;
  const Target *named = nullptr;
  if (const Variant *variant = program.variant()) {
    text = variant->ptx;
  } else {
    text = compiler.emit(*program.input.module, *phase, program.alignment);
    programs.report(compiler, json ? Remarks::hide : programs.remarks());
    if (mlir::failed(text))
      return programs.fail(program, compiler, json ? Format::json : Format::text);
    named = program::findTarget(*program.input.module);
  }
  const Target &target = named ? *named : *findTarget(program.options.target);
  if (emit == cubin) {
    if (const ExitCode code = assembleTo(output, *text, target, programs.remarks());
        code != ExitCode::success)
      return code;
  } else if (Result<void> written = writeOutput(output, *text); !written) {
    return fail(written.error().message);
  }
  if (json)
    printJson({program.source, target.name, emit, output}, compiler);
  return ExitCode::success;
}
