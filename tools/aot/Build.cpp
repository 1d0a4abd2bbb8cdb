// SPDX-License-Identifier: Apache-2.0
#include "tools/aot/Build.h"

#include "compiler/codegen/Ptxas.h"
#include "runtime/aot/Image.h"
#include "runtime/artifact/Serialize.h"
#include "runtime/device/LaunchPlan.h"
#include "tools/aot/ArchiveFile.h"
#include "tools/aot/CHeader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <fmt/format.h>
#include <mutex>

using namespace llvm;
using namespace tlc;
using namespace tlc::aot;

namespace {

tlc::Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// A kernel whose programs are compiled.
struct Compiled {
  const KernelRequest *request;
  std::vector<Artifact> artifacts = {}; ///< per target, as they are shipped
};

/// PTX whose `.file` directives have names without folders.
std::string withoutFolders(StringRef ptx) {
  SmallVector<StringRef> lines;
  ptx.split(lines, '\n');
  std::string text;
  text.reserve(ptx.size());
  for (const auto &[number, line] : enumerate(lines)) {
    if (number != 0)
      text += '\n';
    const size_t quote = line.ltrim().starts_with(".file") ? line.find('"') : StringRef::npos;
    const size_t slash = quote == StringRef::npos ? quote : line.rfind('/');
    if (slash == StringRef::npos)
      text += line;
    else
      ((text += line.take_front(quote)) += '"') += line.drop_front(slash + 1);
  }
  return text;
}

/// The program without what depends on the folder that it is built in, and without remarks, which are for who
/// compiles.
Artifact shippedOf(const Artifact &artifact) {
  Artifact shipped = artifact;
  shipped.remarks.clear();
  for (Variant &variant : shipped.variants) {
    variant.ptx = withoutFolders(variant.ptx);
    for (ReportSite &site : variant.reports)
      site.place.erase(0, site.place.rfind('/') + 1);
  }
  return shipped;
}

bool isOfRanks(const Artifact &artifact) {
  return any_of(artifact.tensors, [](const TensorArgument &tensor) { return tensor.symmetric; }) ||
         any_of(artifact.dimensions,
                [](const Dimension &dimension) { return dimension.source != DimensionSource::shapes; });
}

/// The declarations of tensors, but for workspaces, and scalars.
bool takeTheSame(const Artifact &one, const Artifact &other) {
  const size_t count = firstWorkspaceOf(one);
  if (firstWorkspaceOf(other) != count || one.scalars.size() != other.scalars.size())
    return false;
  for (size_t i = 0; i != count; ++i)
    if (one.tensors[i].name != other.tensors[i].name || one.tensors[i].element != other.tensors[i].element ||
        one.tensors[i].shape.size() != other.tensors[i].shape.size())
      return false;
  return std::ranges::equal(one.scalars, other.scalars, [](const ScalarArgument &a, const ScalarArgument &b) {
    return a.name == b.name && a.element == b.element;
  });
}

Result<void> check(const Compiled &kernel, const BuildOptions &options) {
  const Artifact &first = kernel.artifacts.front();
  if (options.hasEmulator)
    for (const Variant &variant : first.variants)
      if (variant.ptx.empty() && !variant.launches.empty())
        return invalid(
            fmt::format("expected PTX of '{}' for --emulator, but it has machine code alone", first.name));
  if (isOfRanks(first))
    return invalid(
        fmt::format("expected a kernel of one GPU, but '{}' runs on several ranks; 'tlc_launch_ranks' "
                    "and 'launchRanks' launch it",
                    first.name));
  for (const Artifact &artifact : kernel.artifacts)
    if (!takeTheSame(first, artifact))
      return invalid(
          fmt::format("expected the same tensors and scalars of '{}' for all targets, but those for {} "
                      "differ from those for {}; build an archive for each",
                      first.name, artifact.target, first.target));
  return {};
}

/// Machine code for all variants, by several processes at once.
Result<void> assembleAll(std::vector<Compiled> &kernels, const BuildOptions &options) {
  std::mutex mutex;
  std::string failure;
  DefaultThreadPool pool(hardware_concurrency(options.threads));
  for (Compiled &kernel : kernels)
    for (Artifact &artifact : kernel.artifacts)
      for (Variant &variant : artifact.variants) {
        if (variant.launches.empty() || variant.ptx.empty() || !variant.cubin.empty())
          continue;
        pool.async([&, &name = kernel.request->function, &target = artifact.target] {
          Expected<MachineCode> code =
              assemble(*options.ptxas, variant.ptx, *findTarget(target), SourceLines::drop);
          std::string reason = code ? "" : toString(code.takeError());
          const std::lock_guard lock(mutex);
          if (code)
            variant.cubin = std::move(code->cubin);
          else if (failure.empty())
            failure = fmt::format("{} for {}: {}", name, target, reason);
        });
      }
  pool.wait();
  if (!failure.empty())
    return tlc::Error{ErrorKind::environment, failure};
  return {};
}

HeaderKernel headerOf(const Compiled &kernel) {
  HeaderKernel header{kernel.request->function, kernel.artifacts.front().name,
                      "A kernel of another compiler, by 'tlc wrap'.", &kernel.artifacts.front()};
  if (!kernel.request->artifact) {
    const kernels::ListedProgram &program = kernel.request->programs.front();
    header.line = kernels::lineOf(program.request, program.options);
    header.line.resize(header.line.find(" --target="));
    const std::string file = program.request.kernel->file();
    header.line.erase(0, StringRef(file).rfind('/') + 1); // equal headers in all folders
    header.summary = program.request.kernel->summary();
  }
  for (const Artifact &artifact : kernel.artifacts) {
    header.targets.push_back(artifact.target);
    header.hasWorkspaces |= firstWorkspaceOf(artifact) != artifact.tensors.size();
  }
  return header;
}

KernelData dataOf(const Compiled &kernel) {
  KernelImage image{kernel.request->function, {}};
  for (const Artifact &artifact : kernel.artifacts)
    image.programs.push_back({artifact.target, tlc::serialize(artifact)});
  return {kernel.request->function, aot::serialize(image)};
}

} // namespace

Result<Built> aot::build(kernels::Library &library, std::span<const KernelRequest> requests,
                         const BuildOptions &options,
                         const std::function<void(const kernels::PrewarmStep &)> &onStep) {
  std::vector<std::string> functions;
  for (const KernelRequest &request : requests)
    functions.push_back(request.function);
  if (Result<void> unique = checkNames(options.prefix, functions); !unique)
    return unique.error();
  std::vector<kernels::ListedProgram> programs;
  for (const KernelRequest &request : requests)
    llvm::append_range(programs, request.programs);
  std::string failure;
  kernels::prewarm(library, programs, options.threads, [&](const kernels::PrewarmStep &step) {
    if (!step.result && failure.empty())
      failure = step.result.error().message;
    onStep(step);
  });
  if (!failure.empty())
    return invalid(failure);

  std::vector<Compiled> kernels;
  for (const KernelRequest &request : requests) {
    Compiled &kernel = kernels.emplace_back(&request);
    if (request.artifact)
      kernel.artifacts.push_back(shippedOf(*request.artifact));
    for (const kernels::ListedProgram &program : request.programs) {
      kernels::CompileLog log;
      Result<std::shared_ptr<const Artifact>> artifact =
          library.compile(program.request, program.options, log);
      if (!artifact)
        return artifact.error();
      kernel.artifacts.push_back(shippedOf(**artifact));
      // That of the cache has source lines.
      for (Variant &variant : kernel.artifacts.back().variants)
        variant.cubin.clear();
    }
    if (Result<void> valid = check(kernel, options); !valid)
      return valid.error();
  }
  if (options.ptxas)
    if (Result<void> done = assembleAll(kernels, options); !done)
      return done.error();

  Header header{options.prefix, {}, options.hasEmulator};
  std::vector<ArchiveMember> members = {
      {options.prefix + ".o", writeObject(options.machine, commonFunctionsOf(options.prefix), std::nullopt)}};
  for (const Compiled &kernel : kernels) {
    header.kernels.push_back(headerOf(kernel));
    members.push_back({kernel.request->function + ".o",
                       writeObject(options.machine, functionsOf(header.kernels.back(), options.hasEmulator),
                                   dataOf(kernel))});
  }
  Result<std::string> archive = writeArchive(members);
  if (!archive)
    return archive.error();
  return Built{std::move(*archive), textOf(header)};
}
