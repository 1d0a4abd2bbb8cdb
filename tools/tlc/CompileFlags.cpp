// SPDX-License-Identifier: Apache-2.0
/// \file
/// Flags to options.
#include "tools/tlc/CompileFlags.h"

#include "runtime/support/Excerpt.h"
#include "runtime/support/WaitLimit.h"
#include "runtime/target/Target.h"
#include "tools/tlc/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// Where the compiler looks at a switch.
Phase phaseOf(bool Optimizations::*member) {
  if (member == &Optimizations::reports)
    return Phase::promoted;
  if (member == &Optimizations::tma || member == &Optimizations::wgmma || member == &Optimizations::tcgen05)
    return Phase::atoms;
  if (member == &Optimizations::warpSpecialization || member == &Optimizations::storeRole ||
      member == &Optimizations::asyncCopies)
    return Phase::specialized;
  return member == &Optimizations::overlap ? Phase::scheduled : Phase::pipelined;
}

/// The flags keep no copy of their help.
StringRef disableHelp() {
  static const std::string text = [] {
    SmallVector<StringRef> names = map_to_vector(
        optimizationSwitches(), [](const OptimizationSwitch &entry) { return StringRef(entry.name); });
    return "Do without " + join(names, ", ");
  }();
  return text;
}

} // namespace

tlc::Error driver::unknownValue(StringRef flag, StringRef value, ArrayRef<StringRef> allowed) {
  return {ErrorKind::invalidArgument,
          ("expected " + flag + " to be one of " + joinNames(allowed) + ", but got '" + excerpt(value) + "'")
              .str()};
}

tlc::Error driver::unknownTarget(StringRef flag, StringRef name) {
  return unknownValue(flag, name,
                      map_to_vector(allTargets(), [](const Target &each) { return StringRef(each.name); }));
}

ParameterFlags::ParameterFlags(cl::SubCommand &command)
    : defines("D", cl::sub(command), cl::Prefix, cl::value_desc("name=value"),
              cl::desc("Parameter of the kernel; 'tlc list' shows them")) {}

CompileFlags::CompileFlags(cl::SubCommand &command)
    : parameters(command), kernelNames(command),
      fixed("static", cl::sub(command), cl::CommaSeparated, cl::value_desc("dimension"),
            cl::desc("Specialise the program for the value that -D gives this dimension")),
      target("target", cl::sub(command), cl::value_desc("name"), cl::init(CompileOptions().target),
             cl::desc("Architecture to compile for")),
      variant("variant", cl::sub(command), cl::value_desc("aligned|general"),
              cl::desc("Variant for tensors aligned to 16 bytes, or the one that does not rely on it")),
      disabled("disable", cl::sub(command), cl::CommaSeparated, cl::value_desc("optimisation"),
               cl::desc(disableHelp())),
      strategy("strategy", cl::sub(command), cl::value_desc("name"),
               cl::desc("Share kernels out among roles in this way alone")),
      boundedWaits("bounded-waits", cl::sub(command), cl::value_desc("seconds"),
                   cl::desc("A wait for a count or at an mbarrier that lasts longer ends, and is reported")),
      multicast("multicast", cl::sub(command),
                cl::desc("Let the program access all ranks' tensors at once, by NVLink multicast")),
      dumpDirectory("dump-dir", cl::sub(command), cl::value_desc("folder"),
                    cl::desc("Write the program of every phase into this folder")),
      printAfterPasses("print-ir-after-all", cl::sub(command),
                       cl::desc("Print the module to stderr after each pass that changed it")),
      timePasses("mlir-timing", cl::sub(command), cl::desc("Print how long each pass took to stderr")),
      crashReproducer("crash-reproducer", cl::sub(command), cl::value_desc("file"),
                      cl::desc("Write the module and the passes to this file when a pass fails or crashes")),
      remarks("remarks", cl::sub(command), cl::desc("Say what the compiler chose, and why not better")),
      time("time", cl::sub(command), cl::desc("Say how long each phase took")) {}

Result<CompileOptions> CompileFlags::options() const {
  CompileOptions options;
  if (!findTarget(target.getValue()))
    return unknownTarget("--target", target);
  options.target = target;
  for (const std::string &name : disabled) {
    auto found =
        find_if(optimizationSwitches(), [&](const OptimizationSwitch &entry) { return entry.name == name; });
    if (found == optimizationSwitches().end())
      return unknownValue("--disable", name,
                          map_to_vector(optimizationSwitches(), [](const OptimizationSwitch &entry) {
                            return StringRef(entry.name);
                          }));
    options.optimizations.*found->member = false;
  }
  auto names = map_to_vector(strategyNames(), [](std::string_view name) { return StringRef(name); });
  if (strategy.getNumOccurrences() && !is_contained(names, strategy.getValue()))
    return unknownValue("--strategy", strategy, names);
  options.optimizations.strategy = strategy;
  if (boundedWaits.getNumOccurrences()) {
    Result<std::chrono::nanoseconds> limit = waitLimitOf(boundedWaits, "--bounded-waits");
    if (!limit)
      return limit.error();
    options.waitLimit = *limit;
  }
  options.multicast = multicast;
  options.dumpDirectory = dumpDirectory;
  options.inspection = {printAfterPasses, timePasses, crashReproducer};
  return options;
}

bool CompileFlags::showsPasses() const {
  return !dumpDirectory.empty() || printAfterPasses || timePasses || !crashReproducer.empty();
}

Result<std::optional<Alignment>> CompileFlags::alignment() const {
  if (variant.getNumOccurrences() == 0)
    return std::optional<Alignment>();
  if (variant == "aligned")
    return std::optional(Alignment::aligned);
  if (variant == "general")
    return std::optional(Alignment::general);
  return unknownValue("--variant", variant, {"aligned", "general"});
}

std::optional<std::string> ParameterFlags::firstBefore(unsigned position) const {
  return defines.empty() || defines.getPosition(0) > position ? std::nullopt : std::optional(defines[0]);
}

Result<kernels::Definitions> ParameterFlags::definitions(unsigned from, unsigned to) const {
  kernels::Definitions parsed;
  for (unsigned i = 0; i != defines.size(); ++i) {
    if (defines.getPosition(i) < from || defines.getPosition(i) > to)
      continue;
    const StringRef text = defines[i];
    auto [name, value] = text.split('=');
    if (name.empty() || name.size() == text.size())
      return tlc::Error{ErrorKind::invalidArgument,
                        "expected -D name=value, but got '-D " + excerpt(text) + "'"};
    if (!parsed.try_emplace(name.str(), value.str()).second)
      return tlc::Error{ErrorKind::invalidArgument,
                        "expected each parameter once, but '" + excerpt(name) + "' is given twice"};
  }
  return parsed;
}

Result<void> CompileFlags::checkFile(const std::string &source, Phase startFrom, const Target *ofFile) const {
  const auto invalid = [](const Twine &message) {
    return tlc::Error{ErrorKind::invalidArgument, message.str()};
  };
  if (namesTarget() && ofFile && target != ofFile->name)
    return invalid("expected --target " + StringRef(ofFile->name) + " or none because the program in '" +
                   excerpt(source) + "' is for that (program.target), but got --target " + target +
                   "; compile the kernel anew for another");
  const auto decided = [&](const Twine &flag, Phase phase) {
    return invalid("expected no " + flag + " because '" + excerpt(source) + "' is in phase " +
                   StringRef(toString(startFrom)) + ", and phase " + StringRef(toString(phase)) +
                   " has decided that; give it where an earlier phase is compiled");
  };
  if (variant.getNumOccurrences() && startFrom > Phase::promoted)
    return decided("--variant " + variant, Phase::atoms);
  for (const std::string &name : disabled)
    for (const OptimizationSwitch &each : optimizationSwitches())
      if (each.name == name && startFrom >= phaseOf(each.member))
        return decided("--disable " + name, phaseOf(each.member));
  if (strategy.getNumOccurrences() && startFrom >= Phase::specialized)
    return decided("--strategy " + strategy, Phase::specialized);
  if (boundedWaits.getNumOccurrences() && startFrom >= Phase::simt)
    return decided("--bounded-waits", Phase::simt);
  if (multicast && startFrom >= Phase::simt)
    return decided("--multicast", Phase::simt);
  return {};
}

Result<KernelChoice> CompileFlags::choice(const std::string &kernel, kernels::DefaultSizes sizes,
                                          const kernels::Definitions &more,
                                          std::vector<Diagnostic> *diagnostics) const {
  Result<CompileOptions> all = options();
  if (!all)
    return all.error();
  Result<std::optional<Alignment>> wanted = alignment();
  if (!wanted)
    return wanted.error();
  Result<CacheOptions> cache = kernelNames.cache();
  if (!cache)
    return cache.error();
  Result<kernels::Definitions> parsed = definitions();
  if (!parsed)
    return parsed.error();
  for (const auto &[name, value] : more)
    if (!parsed->try_emplace(name, value).second)
      return tlc::Error{ErrorKind::invalidArgument,
                        "expected --" + name + " or -D " + name + "=value, but got both"};
  Result<const kernels::Kernel *> found = kernelNames.find(kernel, diagnostics);
  if (!found)
    return found.error();
  Result<kernels::Request> request =
      kernels::Request::parseLaunch(**found, *parsed, fixedDimensions(), sizes);
  if (!request)
    return request.error();
  return KernelChoice{std::move(*all), *wanted, std::move(*request), std::move(*cache)};
}
