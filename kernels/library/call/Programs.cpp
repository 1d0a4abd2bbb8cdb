// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a call's program and tensors to its launches.
#include "kernels/library/call/Programs.h"

#include "kernels/library/call/Mistake.h"
#include "kernels/library/call/TracedProgram.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/StreamChecks.h"
#include "runtime/support/Math.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// The program's workspaces, each at a multiple of the alignment in one piece of memory.
struct WorkspaceLayout {
  std::vector<WorkspaceRequest> requests;
  std::vector<size_t> offsets;
  size_t bytes = 0;
};

Result<WorkspaceLayout> layOut(const Device &device, const Artifact &artifact,
                               std::span<const TensorView> views) {
  Result<std::vector<WorkspaceRequest>> requests = workspacesOf(artifact, views, device.properties());
  if (!requests)
    return requests.error();
  WorkspaceLayout layout;
  layout.requests = std::move(*requests);
  for (const WorkspaceRequest &request : layout.requests) {
    layout.offsets.push_back(layout.bytes);
    layout.bytes += alignTo(request.bytes, workspaceAlignment);
  }
  return layout;
}

} // namespace

Result<void> kernels::checkWorkspace(const Workspace &workspace, size_t needed, std::string_view space) {
  if (workspace.bytes < needed)
    return mistake("workspace: expected at least {} bytes for these tensors and options, but got {}; "
                   "{}::workspaceSize says how many it takes",
                   needed, workspace.bytes, space);
  if (needed == 0)
    return {};
  if (!workspace.data)
    return mistake("workspace: expected the address of {} bytes, but got null", needed);
  if (reinterpret_cast<uintptr_t>(workspace.data) % workspaceAlignment != 0)
    return mistake(
        "workspace: expected an address that is a multiple of {}, as Device::allocate gives it, but got {}",
        workspaceAlignment, workspace.data);
  return {};
}

Result<const Target *> Programs::target() const {
  const std::string &name = onDevice.properties().target;
  if (const Target *target = findTarget(name))
    return target;
  return Error{ErrorKind::environment,
               fmt::format("expected a device of a target that code can be generated for ({}), but got '{}'",
                           targetNames(), name)};
}

CompileOptions Programs::optionsOfDevice() const {
  CompileOptions options;
  options.target = onDevice.properties().target;
  return options;
}

Result<std::shared_ptr<const LoadedProgram>> Programs::load(dsl::Program program) {
  CompileOptions options = optionsOfDevice();
  Result<TracedProgram> traced = TracedProgram::take(std::move(program));
  if (!traced)
    return traced.error();
  KeyBuilder key = traced->key(options);
  return loaded.getOrCompute(key.finish(), [&]() -> Result<std::shared_ptr<const LoadedProgram>> {
    Result<ArtifactCache::Pointer> artifact =
        compile(std::move(*traced), options, artifacts, onDevice.properties().code);
    if (!artifact)
      return artifact.error();
    return artifacts.load(onDevice, **artifact);
  });
}

Result<std::shared_ptr<const LoadedProgram>> Programs::load(const CallProgram &program) {
  CompileOptions options = optionsOfDevice();
  KeyBuilder key = program.key;
  key.add(fingerprint(options));
  return loaded.getOrCompute(key.finish(), [&]() -> Result<std::shared_ptr<const LoadedProgram>> {
    const CacheRequest request = {.key = key,
                                  .program = program.call,
                                  .target = options.target,
                                  .remedy = [&] { return callRemedy(options.target); },
                                  .code = onDevice.properties().code};
    auto artifact = artifacts.getOrCompile(request, [&]() -> Result<ArtifactCache::Pointer> {
      if (Result<void> valid = program.check(); !valid)
        return valid.error();
      Result<TracedProgram> traced = TracedProgram::take(program.trace());
      if (!traced)
        return traced.error();
      Result<Artifact> compiled = compile(std::move(*traced), options);
      if (!compiled)
        return compiled.error();
      return std::make_shared<const Artifact>(std::move(*compiled));
    });
    if (!artifact)
      return artifact.error();
    return artifacts.load(onDevice, **artifact);
  });
}

Result<std::shared_ptr<const LoadedProgram>> Programs::loadFor(const CallProgram &program, Stream stream) {
  KeyBuilder key = program.key;
  key.add(fingerprint(optionsOfDevice()));
  if (auto known = loaded.find(key.finish()))
    return known;
  Result<bool> captured = onDevice.isCaptured(stream);
  if (!captured)
    return captured.error();
  if (*captured)
    return errorOfLoadInCapture(program.call);
  return load(program);
}

Result<size_t> Programs::workspaceSize(const CallProgram &program, const Schema &schema) {
  Result<std::shared_ptr<const LoadedProgram>> found = load(program);
  if (!found)
    return found.error();
  Result<WorkspaceLayout> layout = layOut(onDevice, (*found)->artifact(), schema.views());
  if (!layout)
    return layout.error();
  return layout->bytes;
}

Result<void> Programs::launch(const CallProgram &program, const Schema &schema, Workspace workspace,
                              Stream stream) {
  if (Result<void> valid = schema.checkMemory(); !valid)
    return valid;
  Result<std::shared_ptr<const LoadedProgram>> found = loadFor(program, stream);
  if (!found)
    return found.error();
  Result<WorkspaceLayout> layout = layOut(onDevice, (*found)->artifact(), schema.views());
  if (!layout)
    return layout.error();
  std::string space = schema.call().substr(0, schema.call().find("::"));
  if (Result<void> valid = checkWorkspace(workspace, layout->bytes, space); !valid)
    return valid;
  LaunchArguments arguments{.tensors = schema.views()};
  for (size_t i = 0; i < layout->requests.size(); ++i)
    arguments.tensors.push_back(
        layout->requests[i].view(static_cast<std::byte *>(workspace.data) + layout->offsets[i]));
  return onDevice.launch(**found, arguments, stream);
}
