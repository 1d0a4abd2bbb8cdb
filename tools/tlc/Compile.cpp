// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `compile`.
#include "tools/tlc/Compile.h"

#include "compiler/codegen/Ptxas.h"
#include "compiler/pipeline/Compiler.h"
#include "dialects/program/Program.h"
#include "kernels/library/Library.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"
#include "tools/tlc/Time.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

constexpr StringRef cubin = "cubin";

bool isFile(StringRef source) { return source == "-" || source.ends_with(".mlir"); }

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
      source(cl::sub(command), cl::Positional, cl::value_desc("kernel"),
             cl::desc("<kernel | file.cpp | file.mlir | ->")),
      emit("emit", cl::sub(command), cl::value_desc("phase"), cl::init("ptx"),
           cl::desc("Phase to stop at (input ... nvvm, llvm, ptx), or cubin")),
      startFrom("start-from", cl::sub(command), cl::value_desc("phase"), cl::init("input"),
                cl::desc("Phase that the given .mlir file is in")),
      output("o", cl::sub(command), cl::value_desc("file"), cl::init("-"), cl::desc("Output file")),
      flags(command) {}

ExitCode CompileCommand::execute() const {
  if (source.empty())
    return failUsage(
        "expected a kernel, a .cpp or an .mlir file, but got none; 'tlc compile --help' shows how");
  Result<CompileOptions> options = flags.options();
  if (!options)
    return failUsage(options.error().message);
  Result<std::optional<Alignment>> alignment = flags.alignment();
  if (!alignment)
    return failUsage(alignment.error().message);
  auto definitions = flags.definitions();
  if (!definitions)
    return failUsage(definitions.error().message);
  std::optional<Phase> first = parsePhase(startFrom.getValue());
  if (!first || *first > Phase::nvvm)
    return failUsage(unknownValue("--start-from", startFrom,
                                  map_to_vector(ArrayRef(phaseNames).take_front(size_t(Phase::nvvm) + 1),
                                                [](std::string_view name) { return StringRef(name); }))
                         .message);
  std::optional<Phase> phase = emit == cubin ? Phase::ptx : parsePhase(emit.getValue());
  if (!phase) {
    SmallVector<StringRef> allowed(phaseNames.begin(), phaseNames.end());
    allowed.push_back(cubin);
    return failUsage(unknownValue("--emit", emit, allowed).message);
  }
  Remarks remarks = flags.wantsRemarks() ? Remarks::show : Remarks::hide;
  Compiler reader(*options);
  dsl::ProgramModule input;
  bool isGuessed = false; // that a file is in phase input
  if (isFile(source)) {
    if (!definitions->empty() || !flags.fixedDimensions().empty())
      return failUsage("expected no parameters because '" + excerpt(source) +
                       "' is a file, but got -D or --static");
    ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFileOrSTDIN(source, /*IsText=*/true);
    if (!buffer)
      return failUsage("cannot read '" + excerpt(source) + "': " + buffer.getError().message());
    input.context = createContext();
    input.module =
        reader.parse((*buffer)->getBuffer(), (*buffer)->getBufferIdentifier(), input.context.get());
    print(reader.diagnostics(), remarks);
    if (input.module) {
      if (input.module->getBody()->empty())
        return fail("expected a kernel in '" + excerpt(source) + "', but it has none");
      std::optional<Phase> own = declaredPhase(*input.module);
      if (own && startFrom.getNumOccurrences() && *first != *own)
        return failUsage(
            "expected --start-from " + std::string(toString(*own)) + " or none because '" + excerpt(source) +
            "' says that it is in this phase (program.phase), but got --start-from " + startFrom);
      isGuessed = !own && startFrom.getNumOccurrences() == 0;
      first = own.value_or(*first);
      if (Result<void> fits = flags.checkFile(source, *first, program::findTarget(*input.module)); !fits)
        return failUsage(fits.error().message);
    }
  } else {
    Result<const kernels::Kernel *> kernel = flags.kernelFlags().find(source);
    if (!kernel)
      return failBy(kernel.error());
    Result<kernels::Request> request =
        kernels::Request::parse(**kernel, *definitions, flags.fixedDimensions());
    if (!request)
      return failUsage(request.error().message);
    if (*first != Phase::input)
      return failUsage("expected a file in phase " + std::string(toString(*first)) +
                       " because of --start-from, but '" + excerpt(source) +
                       "' is a kernel, which is traced to phase input");
    kernels::CompileLog log;
    Result<dsl::ProgramModule> traced = kernels::trace(*request, *findTarget(options->target), log);
    print(log.diagnostics, remarks);
    if (!traced)
      return ExitCode::failure;
    input.context = std::move(traced->context);
    input.module = std::move(traced->module);
  }

  if (*phase < *first)
    return failUsage("expected --emit " + emit + " to come after --start-from " +
                     std::string(toString(*first)) + ", but it comes before");
  options->startFrom = *first;
  Compiler compiler(*options);
  mlir::FailureOr<std::string> text = mlir::failure();
  if (input.module)
    text = compiler.emit(*input.module, *phase, alignment->value_or(Alignment::aligned));
  print(compiler.diagnostics(), remarks);
  if (flags.wantsTime())
    printTimes(compiler.times());
  if (mlir::failed(text)) {
    if (input.module && isGuessed && isPastInput(*input.module))
      errs() << "tlc: note: '" << excerpt(source) << "' is read as phase input, but is of a later "
             << "phase; name that phase with --start-from\n";
    return ExitCode::failure;
  }
  if (emit == cubin) {
    const Target *named = program::findTarget(*input.module);
    return assembleTo(output, *text, named ? *named : *findTarget(options->target), remarks);
  }
  if (Result<void> written = writeOutput(output, *text); !written)
    return fail(written.error().message);
  return ExitCode::success;
}
