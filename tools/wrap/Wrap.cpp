// SPDX-License-Identifier: Apache-2.0
#include "tools/wrap/Wrap.h"

#include "runtime/artifact/Verify.h"
#include "runtime/emulator/ptx/Parser.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/NearestName.h"
#include "runtime/target/CodeTarget.h"
#include "runtime/target/Target.h"
#include "tools/wrap/Cubin.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::wrap;

namespace {

Error invalid(std::string message) { return {.message = std::move(message)}; }
Error inFile(const CodeFile &file, std::string_view message) {
  return invalid(fmt::format("'{}': {}", excerpt(file.name), message));
}

/// "saxpy, gemm", the first ones of many.
std::string joined(const std::vector<std::string> &names) {
  return names.empty() ? "none" : excerpt(fmt::format("{}", fmt::join(names, ", ")));
}

Error noEntry(const Description &description, size_t launch, const CodeFile &file,
              const std::vector<std::string> &names) {
  const std::string &wanted = description.artifact.variants.front().launches[launch].entry;
  return description.at(description.launches[launch].entry,
                        formatMessage("expected an entry of '{}', but got '{}'; it has {}{}", file.name,
                                      wanted, joined(names), nearestText(wanted, names)));
}

/// The launches of a description against the entries of a module.
class PtxCheck {
public:
  PtxCheck(const Description &description, const CodeFile &file, const emulator::Module &module)
      : description(description), file(file), module(module) {}

  Result<void> run() const {
    std::vector<std::string> names;
    for (const emulator::Function &function : module.functions)
      if (function.isEntry)
        names.push_back(function.name);
    const std::vector<Launch> &launches = description.artifact.variants.front().launches;
    for (size_t number = 0; number != launches.size(); ++number) {
      const auto entry = std::ranges::find_if(module.functions, [&](const emulator::Function &function) {
        return function.isEntry && function.name == launches[number].entry;
      });
      if (entry == module.functions.end())
        return noEntry(description, number, file, names);
      const LaunchPlaces &places = description.launches[number];
      if (Result<void> valid = checkParameters(launches[number], places, *entry); !valid)
        return valid;
      if (Result<void> valid = checkBounds(launches[number], places, *entry); !valid)
        return valid;
    }
    return {};
  }

private:
  Result<void> checkParameters(const Launch &launch, const LaunchPlaces &places,
                               const emulator::Function &entry) const {
    const size_t given = launch.parameters.size(), taken = entry.parameters.size();
    for (size_t i = 0; i != std::min(given, taken); ++i) {
      const KernelParameter &parameter = launch.parameters[i];
      const unsigned bytes = parameterBytes(description.artifact, parameter);
      const emulator::Variable &own = entry.parameters[i];
      if (own.bytes == bytes && own.alignment <= parameterAlignment(description.artifact, parameter))
        continue;
      return description.at(
          places.parameters[i],
          formatMessage("expected {} bytes, aligned to {}, because parameter {} of '{}' has "
                        "them, but '{}' has {}{}",
                        own.bytes, own.alignment, i + 1, entry.name, places.texts[i], bytes,
                        hintFor(parameter, own.bytes)));
    }
    if (given != taken)
      return description.at(given > taken ? places.parameters[taken] : places.entry,
                            formatMessage("expected {} parameters, as '{}' of '{}' takes, but got {}", taken,
                                          entry.name, file.name, given));
    return {};
  }

  static std::string hintFor(const KernelParameter &parameter, uint64_t bytes) {
    const bool isInteger = parameter.kind == KernelParameter::Kind::dimension ||
                           parameter.kind == KernelParameter::Kind::tensorStride;
    return isInteger && (bytes == 4 || bytes == 8) ? fmt::format("; write it in i{}(...)", 8 * bytes) : "";
  }

  Result<void> checkBounds(const Launch &launch, const LaunchPlaces &places,
                           const emulator::Function &entry) const {
    const auto text = [](const std::array<unsigned, 3> &extents) {
      return fmt::format("{}", fmt::join(extents, ", "));
    };
    const std::array<unsigned, 3> block = launch.block();
    if (entry.requiredThreads && *entry.requiredThreads != block)
      return description.at(places.threads,
                            formatMessage("expected threads {} because '{}' requires them, but got {}",
                                          text(*entry.requiredThreads), entry.name, text(block)));
    if (const auto &most = entry.maximumThreads) {
      const uint64_t count = uint64_t((*most)[0]) * (*most)[1] * (*most)[2];
      if (launch.threads > count)
        return description.at(
            places.threads,
            formatMessage("expected at most {} threads, for which '{}' is compiled, but got {}", count,
                          entry.name, launch.threads));
    }
    if (entry.requiredCluster && *entry.requiredCluster != launch.cluster)
      return description.at(places.cluster.column == 1 ? places.entry : places.cluster,
                            formatMessage("expected cluster {} because '{}' requires it, but got {}",
                                          text(*entry.requiredCluster), entry.name, text(launch.cluster)));
    return {};
  }

  const Description &description;
  const CodeFile &file;
  const emulator::Module &module;
};

Result<void> checkCubin(const Description &description, const CodeFile &file) {
  Result<std::vector<std::string>> functions = functionsOfCubin(file.content);
  if (!functions)
    return inFile(file, functions.error().message);
  const std::vector<Launch> &launches = description.artifact.variants.front().launches;
  for (size_t number = 0; number != launches.size(); ++number)
    if (std::ranges::find(*functions, launches[number].entry) == functions->end())
      return noEntry(description, number, file, *functions);
  return {};
}

/// Where the PTX runs, of all targets or the one that is wanted.
Result<std::string> targetOf(const CodeFile &ptx, const emulator::Module &module, const std::string &wanted) {
  const std::optional<CodeTarget> code = parseCodeTarget(module.target);
  for (const Target &target : allTargets())
    if ((wanted.empty() || target.name == wanted) && code &&
        code->runsOn(target.computeMajor, target.computeMinor))
      return std::string(target.name);
  return inFile(ptx, formatMessage("expected PTX that runs on {}, but its target is '{}'",
                                   wanted.empty() ? "one of " + targetNames() : wanted, module.target));
}

} // namespace

Result<Artifact> wrap::wrap(const Description &description, Code code) {
  Artifact artifact = description.artifact;
  Variant &variant = artifact.variants.front();
  artifact.target = code.target;
  if (code.ptx) {
    Result<emulator::Module> module = emulator::parseModule(code.ptx->content);
    if (!module)
      return inFile(*code.ptx, module.error().message);
    Result<std::string> target = targetOf(*code.ptx, *module, code.target);
    if (!target)
      return target.error();
    artifact.target = *target;
    if (Result<void> valid = PtxCheck(description, *code.ptx, *module).run(); !valid)
      return valid.error();
    variant.ptx = std::move(code.ptx->content);
  }
  if (code.cubin) {
    if (artifact.target.empty())
      return invalid("expected a target, because machine code without PTX does not say one, but got none");
    if (Result<void> valid = checkCubin(description, *code.cubin); !valid)
      return valid.error();
    variant.cubin = std::move(code.cubin->content);
  }
  if (Result<void> valid = verify(artifact); !valid)
    return invalid(fmt::format("{}: {}", description.file, valid.error().message));
  return artifact;
}
