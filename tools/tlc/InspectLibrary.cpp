// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/InspectLibrary.h"

#include "runtime/artifact/Serialize.h"
#include "runtime/support/Excerpt.h"
#include "tools/aot/ArchiveFile.h"
#include "tools/aot/ArgumentText.h"
#include "tools/tlc/Wrap.h"

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
      const auto located = [&](const tlc::Error &error) {
        return tlc::Error{error.kind,
                          formatMessage("{} for {}: {}", view.function, program.target, error.message)};
      };
      Result<std::vector<std::byte>> bytes = aot::artifactOf(program);
      if (!bytes)
        return located(bytes.error());
      Result<Artifact> artifact = deserialize(*bytes);
      if (!artifact)
        return located(artifact.error());
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

bool driver::namesLibrary(StringRef source) {
  return source.ends_with(".a") || source.ends_with(".so") || source.ends_with(artifactEnding);
}

static Result<std::unique_ptr<MemoryBuffer>> open(const std::string &path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return tlc::Error{.message = "cannot read '" + excerpt(path) + "': " + buffer.getError().message()};
  return std::move(*buffer);
}

static Result<Artifact> artifactIn(const std::string &path, const MemoryBuffer &buffer) {
  Result<Artifact> artifact =
      deserialize({reinterpret_cast<const std::byte *>(buffer.getBufferStart()), buffer.getBufferSize()});
  if (!artifact)
    return tlc::Error{artifact.error().kind, "'" + excerpt(path) + "': " + artifact.error().message};
  return artifact;
}

Result<Artifact> driver::readArtifact(const std::string &path) {
  Result<std::unique_ptr<MemoryBuffer>> buffer = open(path);
  return buffer ? artifactIn(path, **buffer) : buffer.error();
}

static Result<std::vector<Kernel>> kernelsIn(const std::string &path, const MemoryBuffer &buffer) {
  if (StringRef(path).ends_with(artifactEnding)) {
    Result<Artifact> artifact = artifactIn(path, buffer);
    if (!artifact)
      return artifact.error();
    std::string name = artifact->name;
    return std::vector{Kernel{std::move(name), {std::move(*artifact)}}};
  }
  Result<std::vector<aot::KernelView>> views = aot::kernelsIn(buffer.getBuffer());
  Result<std::vector<Kernel>> kernels = views ? read(*views) : views.error();
  if (!kernels)
    return tlc::Error{kernels.error().kind, "'" + excerpt(path) + "': " + kernels.error().message};
  return kernels;
}

ExitCode driver::inspectLibrary(const std::string &path, Format format) {
  Result<std::unique_ptr<MemoryBuffer>> buffer = open(path);
  if (!buffer)
    return failUsage(buffer.error().message);
  Result<std::vector<Kernel>> kernels = kernelsIn(path, **buffer);
  if (!kernels)
    return fail(kernels.error().message);
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
