// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `list`.
#include "tools/tlc/List.h"

#include "kernels/cookbook/Cookbook.h"
#include "runtime/target/CodeTarget.h"
#include "runtime/target/Units.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/Messages.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

using Kernels = ArrayRef<const kernels::Kernel *>;

/// ", on the emulator 512", or nothing where the default is the same there.
std::string onEmulator(const kernels::Kernel &kernel, const kernels::Parameter &parameter) {
  const kernels::Definitions sizes = kernel.emulatorSizes();
  auto found = sizes.find(parameter.name);
  return found == sizes.end() ? "" : ", on the emulator " + found->second;
}

/// "default 512, on the emulator 64", or that a launch must be given a value.
std::string defaultOf(const kernels::Kernel &kernel, const kernels::Parameter &parameter) {
  return parameter.isScalar() && parameter.fallback.empty()
             ? "no default"
             : "default " + parameter.fallback + onEmulator(kernel, parameter);
}

/// "; open: 16, 32, 64", or nothing where a tuner leaves it alone.
std::string candidatesOf(const kernels::Parameter &parameter) {
  return parameter.isOpen() ? "; open: " + join(parameter.candidates, ", ") : "";
}

void printText(Kernels kernels) {
  for (const kernels::Kernel *kernel : kernels) {
    outs() << kernel->name() << ": " << kernel->summary() << '\n';
    size_t width = 0;
    for (const kernels::Parameter &parameter : kernel->parameters())
      width = std::max(width, parameter.name.size());
    for (const kernels::Parameter &parameter : kernel->parameters())
      outs() << "  " << left_justify(parameter.name, unsigned(width)) << ' ' << parameter.allowed() << " ("
             << defaultOf(*kernel, parameter) << candidatesOf(parameter) << ')'
             << (parameter.description.empty() ? "" : ": ") << parameter.description << '\n';
  }
  outs() << "targets:";
  for (const Target &target : allTargets())
    outs() << ' ' << target.name;
  outs() << '\n';
}

void printJson(Kernels kernels) {
  json::OStream os(outs());
  os.object([&] {
    os.attributeArray("kernels", [&] {
      for (const kernels::Kernel *kernel : kernels)
        os.object([&] {
          os.attribute("name", StringRef(kernel->name()));
          os.attribute("summary", StringRef(kernel->summary()));
          os.attributeArray("parameters", [&] {
            for (const kernels::Parameter &parameter : kernel->parameters())
              os.object([&] {
                os.attribute("name", parameter.name);
                os.attribute("allowed", parameter.allowed());
                if (!parameter.isScalar() || !parameter.fallback.empty())
                  os.attribute("default", parameter.fallback);
                const kernels::Definitions sizes = kernel->emulatorSizes();
                if (auto found = sizes.find(parameter.name); found != sizes.end())
                  os.attribute("default_on_emulator", found->second);
                if (parameter.isOpen())
                  os.attributeArray("open", [&] {
                    for (const std::string &candidate : parameter.candidates)
                      os.value(candidate);
                  });
                os.attribute("description", parameter.description);
              });
          });
        });
    });
    os.attributeArray("targets", [&] {
      for (const Target &target : allTargets())
        os.value(StringRef(target.name));
    });
  });
  outs() << '\n';
}

/// Devices that code for the target runs on.
std::string devicesOf(const Target &target) {
  const std::string own = fmt::format("{}.{}", target.computeMajor, target.computeMinor);
  switch (parseCodeTarget(target.name)->reach) {
  case CodeTarget::Reach::later:
    return own + " and later";
  case CodeTarget::Reach::family:
    return fmt::format("{} and later {}.x", own, target.computeMajor);
  case CodeTarget::Reach::exact:
    break;
  }
  return own;
}

std::vector<StringRef> unitsOf(const Target &target) {
  std::vector<StringRef> names;
  for (auto unit = unsigned(Unit::cluster); unit <= unsigned(Unit::wgmma); ++unit)
    if (hasUnit(target, Unit(unit)))
      names.emplace_back(describe(Unit(unit)));
  return names;
}

void printText(const Target &target) {
  outs() << fmt::format("{}: compute capability {}; PTX {}.{}, CUDA driver {}.{} or later\n", target.name,
                        devicesOf(target), target.ptxVersion / 10, target.ptxVersion % 10,
                        target.driverVersion / 1000, target.driverVersion % 1000 / 10)
         << fmt::format("  of a block           {} bytes of shared memory, {} threads\n",
                        target.sharedBytesPerBlock, target.maxThreadsPerBlock)
         << fmt::format("  of a multiprocessor  {} bytes of shared memory, {} threads, {} blocks\n",
                        target.sharedBytesPerMultiprocessor, target.maxThreadsPerMultiprocessor,
                        target.maxBlocksPerMultiprocessor)
         << "  units                " << join(unitsOf(target), ", ") << '\n';
}

void printJson(const Target &target) {
  json::OStream os(outs());
  os.object([&] {
    os.attribute("target", StringRef(target.name));
    os.attribute("compute_capability", devicesOf(target));
    os.attribute("ptx_version", fmt::format("{}.{}", target.ptxVersion / 10, target.ptxVersion % 10));
    os.attribute("shared_bytes_per_block", target.sharedBytesPerBlock);
    os.attribute("shared_bytes_per_multiprocessor", target.sharedBytesPerMultiprocessor);
    os.attribute("threads_per_multiprocessor", target.maxThreadsPerMultiprocessor);
    os.attribute("blocks_per_multiprocessor", target.maxBlocksPerMultiprocessor);
    os.attributeArray("units", [&] {
      for (StringRef unit : unitsOf(target))
        os.value(unit);
    });
  });
  outs() << '\n';
}

} // namespace

ListCommand::ListCommand()
    : command("list", "List kernels, their parameters, and targets"),
      kernel(cl::sub(command), cl::Positional, cl::value_desc("kernel"), cl::desc("[<kernel | file.cpp>]")),
      target("target", cl::sub(command), cl::value_desc("name"),
             cl::desc("Show a target instead of kernels")),
      json("json", cl::sub(command), cl::desc("One JSON object")), kernelNames(command) {}

ExitCode ListCommand::execute() const {
  if (!target.empty() && !kernel.empty())
    return failUsage("expected a kernel or --target, but got both");
  if (!target.empty()) {
    const Target *found = findTarget(target.getValue());
    if (!found)
      return failUsage(unknownTarget("--target", target).message);
    json ? printJson(*found) : printText(*found);
    return ExitCode::success;
  }
  std::vector<const kernels::Kernel *> listed(kernels::allKernels().begin(), kernels::allKernels().end());
  listed.insert(listed.end(), kernels::cookbookKernels().begin(), kernels::cookbookKernels().end());
  if (!kernel.empty()) {
    Result<std::vector<const kernels::Kernel *>> found = kernelNames.findAll(kernel);
    if (!found)
      return failBy(found.error());
    listed = std::move(*found);
  }
  json ? printJson(listed) : printText(listed);
  return ExitCode::success;
}
