// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/InspectLibrary.h"

#include "runtime/artifact/Serialize.h"
#include "runtime/support/Excerpt.h"
#include "tools/aot/ArchiveFile.h"
#include "tools/aot/ArgumentText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

struct Kernel {
  std::string function;
  std::vector<Artifact> programs; ///< for each target
};

Result<std::vector<Kernel>> read(const std::vector<aot::KernelView> &views) {
  std::vector<Kernel> kernels;
  for (const aot::KernelView &view : views) {
    Kernel &kernel = kernels.emplace_back(std::string(view.function));
    for (const aot::ProgramView &program : view.programs) {
      Result<Artifact> artifact = deserialize(program.artifact);
      if (!artifact)
        return tlc::Error{artifact.error().kind, formatMessage("{} for {}: {}", view.function, program.target,
                                                               artifact.error().message)};
      kernel.programs.push_back(std::move(*artifact));
    }
  }
  return kernels;
}

void printText(const Kernel &kernel) {
  const Artifact &first = kernel.programs.front();
  outs() << formatMessage("{}: {}\n", kernel.function, first.name);
  for (const TensorArgument &tensor : aot::tensorsOf(first))
    outs() << formatMessage("  {} {} {} {}\n", toString(tensor.access), toString(tensor.element), tensor.name,
                            aot::shapeOf(first, tensor));
  for (const ScalarArgument &scalar : first.scalars)
    outs() << formatMessage("  scalar {} {}\n", toString(scalar.element), scalar.name);
  for (const Artifact &program : kernel.programs)
    for (const Variant &variant : program.variants) {
      outs() << formatMessage("  {}, {}: {} launches, {} bytes of PTX", program.target, variant.name,
                              variant.launches.size(), variant.ptx.size());
      if (!variant.cubin.empty())
        outs() << formatMessage(", {} of machine code", variant.cubin.size());
      outs() << '\n';
    }
}

void writeJson(json::OStream &os, const Kernel &kernel) {
  const Artifact &first = kernel.programs.front();
  os.attribute("function", json::fixUTF8(kernel.function));
  os.attribute("kernel", json::fixUTF8(first.name));
  os.attributeArray("tensors", [&] {
    for (const TensorArgument &tensor : aot::tensorsOf(first))
      os.object([&] {
        os.attribute("name", json::fixUTF8(tensor.name));
        os.attribute("access", StringRef(toString(tensor.access)));
        os.attribute("element", StringRef(toString(tensor.element)));
        os.attribute("shape", json::fixUTF8(aot::shapeOf(first, tensor)));
      });
  });
  os.attributeArray("scalars", [&] {
    for (const ScalarArgument &scalar : first.scalars)
      os.object([&] {
        os.attribute("name", json::fixUTF8(scalar.name));
        os.attribute("element", StringRef(toString(scalar.element)));
      });
  });
  os.attributeArray("variants", [&] {
    for (const Artifact &program : kernel.programs)
      for (const Variant &variant : program.variants)
        os.object([&] {
          os.attribute("target", json::fixUTF8(program.target));
          os.attribute("variant", json::fixUTF8(variant.name));
          os.attribute("launches", int64_t(variant.launches.size()));
          os.attribute("ptx_bytes", int64_t(variant.ptx.size()));
          os.attribute("cubin_bytes", int64_t(variant.cubin.size()));
        });
  });
}

} // namespace

bool driver::namesLibrary(StringRef source) { return source.ends_with(".a") || source.ends_with(".so"); }

ExitCode driver::inspectLibrary(const std::string &path, Format format) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return failUsage("cannot read '" + excerpt(path) + "': " + buffer.getError().message());
  Result<std::vector<aot::KernelView>> views = aot::kernelsIn((*buffer)->getBuffer());
  Result<std::vector<Kernel>> kernels = views ? read(*views) : views.error();
  if (!kernels)
    return fail("'" + excerpt(path) + "': " + kernels.error().message);
  if (kernels->empty())
    return fail("expected a library of 'tlc build', but '" + excerpt(path) + "' has no kernels");
  if (format == Format::json) {
    json::OStream os(outs());
    os.array([&] {
      for (const Kernel &kernel : *kernels)
        os.object([&] { writeJson(os, kernel); });
    });
    outs() << '\n';
    return ExitCode::success;
  }
  for (const Kernel &kernel : *kernels)
    printText(kernel);
  return ExitCode::success;
}
