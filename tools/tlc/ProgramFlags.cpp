// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the command line to a module.
#include "tools/tlc/ProgramFlags.h"

#include "dialects/program/Program.h"
#include "kernels/library/Library.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"
#include "tools/tlc/FailureJson.h"
#include "tools/tlc/Time.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

static bool isFile(StringRef source) { return source == "-" || source.ends_with(".mlir"); }

void SourceProgram::explainFailure() const {
  if (input.module && isGuessed && isPastInput(*input.module))
    errs() << "tlc: note: '" << excerpt(source) << "' is read as phase input, but is of a later "
           << "phase; name that phase with --start-from\n";
}

const Variant *SourceProgram::variant() const {
  if (!artifact)
    return nullptr;
  if (alignment == Alignment::aligned)
    return &artifact->variants.front();
  // Where alignment makes no difference there is one, which is the aligned one.
  return artifact->variants.size() > 1 ? &artifact->variants.back() : nullptr;
}

ProgramFlags::ProgramFlags(cl::SubCommand &command)
    : commandName(command.getName()), source(cl::sub(command), cl::Positional, cl::value_desc("kernel"),
                                             cl::desc("<kernel | file.cpp | file.mlir | ->")),
      startFrom("start-from", cl::sub(command), cl::value_desc("phase"), cl::init("input"),
                cl::desc("Phase that the given .mlir file is in")),
      flags(command) {}

void ProgramFlags::report(const Compiler &compiler, Remarks remarks) const {
  print(compiler.diagnostics(), remarks);
  if (flags.wantsTime())
    printTimes(compiler.times());
}

ExitCode ProgramFlags::fail(const SourceProgram &program, const Compiler &compiler, Format format) const {
  program.explainFailure();
  if (format == Format::json)
    printFailureJson({ErrorKind::invalidArgument, "'" + excerpt(program.source) + "' does not compile"},
                     compiler.diagnostics());
  return ExitCode::failure;
}

std::variant<SourceProgram, ExitCode> ProgramFlags::open(Format format, Wanted wanted) const {
  if (source.empty())
    return failUsage("expected a kernel, a .cpp or an .mlir file, but got none; 'tlc " + commandName.str() +
                     " --help' shows how");
  Result<CompileOptions> options = flags.options();
  if (!options)
    return failUsage(options.error().message);
  Result<std::optional<Alignment>> alignment = flags.alignment();
  if (!alignment)
    return failUsage(alignment.error().message);
  Result<kernels::Definitions> definitions = flags.definitions();
  if (!definitions)
    return failUsage(definitions.error().message);
  std::optional<Phase> first = parsePhase(startFrom.getValue());
  if (!first || *first > Phase::nvvm)
    return failUsage(unknownValue("--start-from", startFrom,
                                  map_to_vector(ArrayRef(phaseNames).take_front(size_t(Phase::nvvm) + 1),
                                                [](std::string_view name) { return StringRef(name); }))
                         .message);
  SourceProgram program{source, std::move(*options), alignment->value_or(Alignment::aligned), {}, false};
  return isFile(source) ? readFile(std::move(program), *first,
                                   !definitions->empty() || !flags.fixedDimensions().empty(), format)
                        : traceKernel(std::move(program), *first, *definitions, format, wanted);
}

std::variant<SourceProgram, ExitCode> ProgramFlags::readFile(SourceProgram program, Phase first,
                                                             bool hasParameters, Format format) const {
  if (hasParameters)
    return failUsage("expected no parameters because '" + excerpt(source) +
                     "' is a file, but got -D or --static");
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFileOrSTDIN(source, /*IsText=*/true);
  if (!buffer)
    return failUsage("cannot read '" + excerpt(source) + "': " + buffer.getError().message());
  Compiler reader(program.options);
  program.input.context = createContext();
  program.input.module =
      reader.parse((*buffer)->getBuffer(), (*buffer)->getBufferIdentifier(), program.input.context.get());
  print(reader.diagnostics(), remarks());
  if (!program.input.module)
    return fail(program, reader, format);
  if (program.input.module->getBody()->empty())
    return driver::fail("expected a kernel in '" + excerpt(source) + "', but it has none");
  std::optional<Phase> own = declaredPhase(*program.input.module);
  const bool isGiven = startFrom.getNumOccurrences() != 0;
  if (own && isGiven && first != *own)
    return failUsage("expected --start-from " + std::string(toString(*own)) + " or none because '" +
                     excerpt(source) +
                     "' says that it is in this phase (program.phase), but got --start-from " + startFrom);
  program.isGuessed = !own && !isGiven;
  program.options.startFrom = own.value_or(first);
  if (Result<void> fits =
          flags.checkFile(source, program.options.startFrom, program::findTarget(*program.input.module));
      !fits)
    return failUsage(fits.error().message);
  return program;
}

std::variant<SourceProgram, ExitCode> ProgramFlags::traceKernel(SourceProgram program, Phase first,
                                                                const kernels::Definitions &definitions,
                                                                Format format, Wanted wanted) const {
  std::vector<Diagnostic> ofFile;
  Result<const kernels::Kernel *> kernel =
      flags.kernelFlags().find(source, format == Format::json ? &ofFile : nullptr);
  if (!kernel)
    return failBy(kernel.error(), ofFile, format);
  Result<kernels::Request> request = kernels::Request::parse(**kernel, definitions, flags.fixedDimensions());
  if (!request)
    return failUsage(request.error().message);
  if (first != Phase::input)
    return failUsage("expected a file in phase " + std::string(toString(first)) +
                     " because of --start-from, but '" + excerpt(source) +
                     "' is a kernel, which is traced to phase input");
  kernels::CompileLog log;
  if (wanted == Wanted::ptx && !flags.showsCompiler()) {
    Result<CacheOptions> cache = flags.kernelFlags().cache();
    if (!cache)
      return failUsage(cache.error().message);
    auto artifact =
        kernels::Library(std::move(*cache)).compile(*request, program.options, log, ProgramCode::ptx);
    if (!artifact)
      return failCompile(artifact.error(), log.diagnostics, format);
    print(log.diagnostics, Remarks::hide);
    program.artifact = std::move(*artifact);
    if (program.variant())
      return program;
  }
  Result<dsl::ProgramModule> traced = kernels::trace(*request, *findTarget(program.options.target), log);
  if (!traced)
    return failCompile(traced.error(), log.diagnostics, format);
  print(log.diagnostics, remarks());
  program.input = std::move(*traced);
  return program;
}
