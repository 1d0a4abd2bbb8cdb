// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `list`.
#include "tools/tlc/List.h"

#include "kernels/Registry.h"
#include "runtime/target/Target.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

void printText() {
  for (const kernels::Kernel *kernel : kernels::allKernels()) {
    outs() << kernel->name() << ": " << kernel->summary() << '\n';
    for (const kernels::Parameter &parameter : kernel->parameters())
      outs() << formatv("  {0,-8} {1} (default {2}): {3}\n", parameter.name, parameter.allowed(),
                        parameter.fallback, parameter.description);
  }
  outs() << "targets:";
  for (const Target &target : allTargets())
    outs() << ' ' << target.name;
  outs() << '\n';
}

void printJson() {
  json::OStream os(outs());
  os.object([&] {
    os.attributeArray("kernels", [&] {
      for (const kernels::Kernel *kernel : kernels::allKernels())
        os.object([&] {
          os.attribute("name", StringRef(kernel->name()));
          os.attribute("summary", StringRef(kernel->summary()));
          os.attributeArray("parameters", [&] {
            for (const kernels::Parameter &parameter : kernel->parameters())
              os.object([&] {
                os.attribute("name", parameter.name);
                os.attribute("allowed", parameter.allowed());
                os.attribute("default", parameter.fallback);
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
      json("json", cl::sub(command), cl::desc("One JSON object")) {}

ExitCode ListCommand::execute() const {
  json ? printJson() : printText();
  return ExitCode::success;
}
