// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `build`.
#include "tools/tlc/Build.h"

#include "compiler/codegen/Ptxas.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"
#include "tools/aot/CHeader.h"
#include "tools/aot/SharedObject.h"
#include "tools/tlc/InspectLibrary.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"
#include "tools/tlc/Wrap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <climits>
#include <fmt/format.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

static tlc::Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

BuildCommand::BuildCommand()
    : command("build", "Compile kernels ahead of time, to a library and a C header"),
      kernelList(
          cl::sub(command), cl::Positional, cl::value_desc("kernel"),
          cl::desc("<[name=]kernel | [name=]file.cpp:kernel, each with its -D | [name=]file.artifact> ...")),
      output("out", cl::sub(command), cl::value_desc("lib.a"),
             cl::desc("Static archive to write, or with --shared a shared object")),
      header("header", cl::sub(command), cl::value_desc("name.h"),
             cl::desc("C header to write; all names in it begin with its own")),
      targets("targets", cl::sub(command), cl::CommaSeparated, cl::value_desc("name,..."),
              cl::desc("Architectures to compile for")),
      parameters(command),
      fixed("static", cl::sub(command), cl::CommaSeparated, cl::value_desc("dimension"),
            cl::desc("Specialise the kernel before it for the value that -D gives this dimension")),
      emulator("emulator", cl::sub(command), cl::desc("Add functions that run the kernels on the CPU")),
      shared("shared", cl::sub(command), cl::desc("Write a shared object that has the runtime in it")),
      machine("host", cl::sub(command), cl::init(aot::hostMachine()),
              cl::desc("Machine that the program runs on (default: that of tlc)"),
              cl::values(clEnumValN(aot::Machine::x86_64, "x86_64", ""),
                         clEnumValN(aot::Machine::aarch64, "aarch64", ""))),
      threads("threads", cl::sub(command), cl::value_desc("count"), cl::init(0),
              cl::desc("How many programs are compiled in parallel (default: one per core)")),
      kernelNames(command) {}

Result<std::vector<std::string>> BuildCommand::targetNames() const {
  if (targets.empty())
    return std::vector{CompileOptions().target};
  StringSet<> seen;
  for (const std::string &name : targets) {
    if (!findTarget(name))
      return unknownTarget("--targets", name);
    if (!seen.insert(name).second)
      return invalid("expected each of --targets once, but '" + name + "' is given twice");
  }
  return std::vector<std::string>(targets.begin(), targets.end());
}

/// What comes before '=' in "name=kernel", which is an identifier of C; empty if there is none.
static StringRef ownName(StringRef text) {
  const StringRef name = text.take_until([](char letter) { return letter == '='; });
  return name.size() != text.size() && aot::identifierOf(name) == name ? name : "";
}

Result<aot::KernelRequest> BuildCommand::request(size_t number, const std::string &prefix,
                                                 const std::vector<std::string> &targetNames) const {
  const StringRef text = kernelList[number], name = ownName(text);
  const std::string kernelName = name.empty() ? text.str() : text.drop_front(name.size() + 1).str();
  const unsigned begin = kernelList.getPosition(unsigned(number)),
                 end = number + 1 == kernelList.size() ? UINT_MAX
                                                       : kernelList.getPosition(unsigned(number) + 1);
  Result<kernels::Definitions> definitions = parameters.definitions(begin, end);
  if (!definitions)
    return definitions.error();
  std::vector<std::string> fixedHere;
  for (const auto &[i, dimension] : enumerate(fixed))
    if (const unsigned position = fixed.getPosition(unsigned(i)); position > begin && position < end)
      fixedHere.push_back(dimension);
  if (StringRef(kernelName).ends_with(artifactEnding)) {
    if (!definitions->empty() || !fixedHere.empty())
      return invalid("expected no -D and no --static after '" + excerpt(kernelName) + "', which is compiled");
    Result<Artifact> artifact = readArtifact(kernelName);
    if (!artifact)
      return artifact.error();
    std::string function = prefix + "_" + (name.empty() ? aot::identifierOf(artifact->name) : name.str());
    return aot::KernelRequest{std::move(function), {}, std::move(*artifact)};
  }
  Result<const kernels::Kernel *> kernel = kernelNames.find(kernelName);
  if (!kernel)
    return kernel.error();
  Result<kernels::Request> request = kernels::Request::parse(**kernel, *definitions, fixedHere);
  if (!request)
    return request.error();
  aot::KernelRequest built{prefix + "_" + (name.empty() ? aot::identifierOf((*kernel)->name()) : name.str())};
  for (const std::string &target : targetNames) {
    kernels::ListedProgram &program = built.programs.emplace_back(*request);
    program.options.target = target;
  }
  return built;
}

Result<std::vector<aot::KernelRequest>> BuildCommand::requests(const std::string &prefix) const {
  Result<std::vector<std::string>> names = targetNames();
  if (!names)
    return names.error();
  if (std::optional<std::string> first = parameters.firstBefore(kernelList.getPosition(0)))
    return invalid("expected -D after the kernel that it is for, but '" + excerpt(*first) +
                   "' comes before the first one");
  if (!fixed.empty() && fixed.getPosition(0) < kernelList.getPosition(0))
    return invalid("expected --static after the kernel that it is for, but '" + excerpt(fixed.front()) +
                   "' comes before the first one");
  std::vector<aot::KernelRequest> all;
  for (size_t number = 0; number != kernelList.size(); ++number) {
    Result<aot::KernelRequest> request = this->request(number, prefix, *names);
    if (!request)
      return request.error();
    all.push_back(std::move(*request));
  }
  return all;
}

/// Of the file next to a shared object.
static constexpr StringLiteral licencesEnding = ".licenses.txt";

static void printStep(const kernels::PrewarmStep &step) {
  outs() << fmt::format("[{}/{}] {}{}\n", step.done, step.all,
                        kernels::lineOf(step.program.request, step.program.options),
                        step.result ? "" : ": failed");
  outs().flush();
}

ExitCode BuildCommand::execute() const {
  if (kernelList.empty())
    return failUsage("expected a kernel, but got none; 'tlc build --help' shows how");
  if (!StringRef(output).ends_with(shared ? ".so" : ".a"))
    return failUsage(fmt::format("expected --out to name {}, but got '{}'",
                                 shared ? "a shared object that ends in .so" : "an archive that ends in .a",
                                 excerpt(output)));
  if (shared && machine != aot::hostMachine())
    return failUsage("expected no --host with --shared because the linker of this machine links it");
  if (!StringRef(header).ends_with(".h"))
    return failUsage("expected --header to name a file that ends in .h, but got '" + excerpt(header) + "'");
  aot::BuildOptions options{.prefix = aot::identifierOf(sys::path::stem(header)),
                            .ptxas = findPtxas(),
                            .hasEmulator = emulator,
                            .machine = machine,
                            .threads = threads};
  Result<std::vector<aot::KernelRequest>> kernels = requests(options.prefix);
  if (!kernels)
    return failBy(kernels.error());
  Result<CacheOptions> cache = kernelNames.cache();
  if (!cache)
    return failUsage(cache.error().message);
  for (const std::string &path : {output.getValue(), header.getValue()})
    if (Result<void> writable = checkOutput(path); !writable)
      return fail(writable.error().message);
  cache->code = ProgramCode::ptx; // the library has machine code without source lines
  kernels::Library library(std::move(*cache));
  Result<aot::Built> built = aot::build(library, *kernels, options, printStep);
  if (!built)
    return fail(built.error().message);
  if (!options.ptxas)
    errs() << "tlc: note: expected ptxas of the CUDA toolkit on PATH for machine code, but found none; the "
              "driver compiles the PTX at the first call\n";
  SmallVector<OutputFile> files = {{output, built->archive}, {header, built->header}};
  const std::string licencesPath = output + licencesEnding.str();
  std::string licences;
  if (shared) {
    Result<aot::SharedObject> linked =
        aot::linkShared(built->archive, sys::path::filename(output).str(), kernelNames.compilerName());
    if (!linked)
      return fail(linked.error().message);
    built->archive = std::move(linked->bytes);
    licences = std::move(linked->licences);
    files = {{output, built->archive}, {header, built->header}, {licencesPath, licences}};
  }
  if (Result<void> written = writeOutputs(files); !written)
    return fail(written.error().message);
  return ExitCode::success;
}
