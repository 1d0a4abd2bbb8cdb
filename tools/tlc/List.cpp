// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `list`.
#include "tools/tlc/List.h"

#include "kernels/cookbook/Cookbook.h"
#include "runtime/target/Target.h"
#include "tools/tlc/Messages.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

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

void printText(Kernels kernels) {
  for (const kernels::Kernel *kernel : kernels) {
    outs() << kernel->name() << ": " << kernel->summary() << '\n';
    size_t width = 0;
    for (const kernels::Parameter &parameter : kernel->parameters())
      width = std::max(width, parameter.name.size());
    for (const kernels::Parameter &parameter : kernel->parameters())
      outs() << "  " << left_justify(parameter.name, unsigned(width)) << ' ' << parameter.allowed()
             << " (default " << parameter.fallback << onEmulator(*kernel, parameter) << ')'
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
                os.attribute("default", parameter.fallback);
                const kernels::Definitions sizes = kernel->emulatorSizes();
                if (auto found = sizes.find(parameter.name); found != sizes.end())
                  os.attribute("default_on_emulator", found->second);
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

} // namespace

ListCommand::ListCommand()
    : command("list", "List kernels, their parameters, and targets"),
      kernel(cl::sub(command), cl::Positional, cl::value_desc("kernel"), cl::desc("[<kernel | file.cpp>]")),
      json("json", cl::sub(command), cl::desc("One JSON object")), kernelNames(command) {}

ExitCode ListCommand::execute() const {
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
