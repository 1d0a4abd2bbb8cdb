// SPDX-License-Identifier: Apache-2.0
#include "kernels/library/Jit.h"

#include "compiler/pipeline/Options.h"
#include "kernels/library/Compile.h"
#include "kernels/library/call/Scalars.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/support/Dlpack.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

} // namespace

Tensor::Tensor(void *data, ElementType element, std::vector<int64_t> shape, std::vector<int64_t> strides)
    : content(TensorView{data, element, std::move(shape), std::move(strides)}) {}

Tensor::Tensor(void *data, ElementType element, std::vector<int64_t> shape)
    : content(contiguousView(data, element, std::move(shape))) {}

Tensor::Tensor(Result<TensorView> view) : content(std::move(view)) {}

Tensor Tensor::ofDlpack(Dlpack given) {
  const std::optional<ElementType> element = elementOfDlpack(given.code, given.bits);
  if (!element || given.lanes != 1)
    return Tensor(Result<TensorView>(
        invalid(fmt::format("expected a DLPack type of elements, but got code {} with {} bits and {} lanes",
                            given.code, given.bits, given.lanes))));
  void *data = given.data ? static_cast<std::byte *>(given.data) + given.byteOffset : nullptr;
  return given.strides ? Tensor(data, *element, std::move(given.shape), std::move(*given.strides))
                       : Tensor(data, *element, std::move(given.shape));
}

/// Memory of workspaces, by the stream whose launches use it, one after the other.
struct Kernel::State {
  State(Device &device, std::shared_ptr<const LoadedProgram> program)
      : device(device), program(std::move(program)) {}
  State(const State &) = delete;
  ~State() {
    for (const auto &[stream, memory] : workspaces)
      for (const Memory &one : memory)
        (void)device.free(one.address); // waits for launches that use it; the stream may have ended
  }

  struct Memory {
    void *address = nullptr;
    size_t bytes = 0;
  };

  /// Checks that what the program writes is apart from all else, and appends workspaces to the tensors.
  Result<void> addWorkspaces(Stream stream, std::vector<TensorView> &tensors) {
    const Artifact &artifact = program->artifact();
    Result<std::vector<WorkspaceRequest>> requests = workspacesOf(artifact, tensors, device.properties());
    if (!requests)
      return requests.error();
    for (size_t i = 0; i < tensors.size(); ++i)
      if (Result<void> valid = checkMemory(artifact.tensors[i], tensors[i]); !valid)
        return valid;
    if (Result<void> apart = checkWrittenApart(artifact, tensors, artifact.name); !apart)
      return apart;
    if (requests->empty())
      return {};
    Result<bool> captured = device.isCaptured(stream);
    if (!captured)
      return captured.error();
    if (*captured)
      return invalid(fmt::format(
          "cannot capture a call of '{}': it has workspaces, which a graph would share with later "
          "calls; capture a launch of Kernel::program() by Device::prepare, with workspaces of "
          "its own (workspacesOf)",
          artifact.name));
    std::vector<Memory> &memory = workspaces[stream.handle];
    memory.resize(requests->size());
    for (size_t i = 0; i < requests->size(); ++i) {
      if ((*requests)[i].bytes > memory[i].bytes)
        if (Result<void> grown = grow(stream, memory[i], (*requests)[i].bytes); !grown)
          return grown;
      tensors.push_back((*requests)[i].view(memory[i].address));
    }
    return {};
  }

  Result<void> grow(Stream stream, Memory &memory, size_t bytes) {
    if (memory.address) {
      if (Result<void> done = device.synchronize(stream); !done)
        return done;
      if (Result<void> freed = device.free(std::exchange(memory.address, nullptr)); !freed)
        return freed;
      memory.bytes = 0;
    }
    Result<void *> address = device.allocate(bytes);
    if (!address)
      return address.error();
    memory = {*address, bytes};
    return {};
  }

  Device &device;
  std::shared_ptr<const LoadedProgram> program;
  std::mutex mutex; ///< of the workspaces, and of launches that use them
  std::map<void *, std::vector<Memory>> workspaces;
};

const LoadedProgram &Kernel::program() const { return *state->program; }

Result<void> Kernel::call(Stream stream, const Argument *arguments, size_t count) const {
  const Artifact &artifact = state->program->artifact();
  LaunchArguments launched;
  for (const Argument &argument : std::span(arguments, count)) {
    if (const auto *tensor = std::get_if<Tensor>(&argument)) {
      if (!tensor->view())
        return tensor->view().error();
      launched.tensors.push_back(*tensor->view());
      continue;
    }
    const size_t number = launched.scalars.size();
    if (number == artifact.scalars.size())
      return invalid(fmt::format("'{}' takes {} numbers, but got more", artifact.name, number));
    const auto *whole = std::get_if<int64_t>(&argument);
    Result<ScalarValue> scalar =
        whole ? kernels::scalarOf(artifact.scalars[number], *whole)
              : kernels::scalarOf(artifact.scalars[number], std::get<double>(argument));
    if (!scalar)
      return scalar.error();
    launched.scalars.push_back(*scalar);
  }
  std::lock_guard lock(state->mutex);
  if (Result<void> added = state->addWorkspaces(stream, launched.tensors); !added)
    return added;
  return state->device.launch(*state->program, launched, stream);
}

Result<void>
Kernel::operator()(Stream stream,
                   std::initializer_list<std::pair<std::string_view, Argument>> arguments) const {
  const Artifact &artifact = state->program->artifact();
  std::vector<Argument> ordered;
  std::vector<std::string_view> names;
  for (const TensorArgument &tensor : artifact.tensors)
    if (tensor.access != Access::workspace)
      names.push_back(tensor.name);
  for (const ScalarArgument &scalar : artifact.scalars)
    names.push_back(scalar.name);
  for (const auto &[name, argument] : arguments) {
    if (std::ranges::find(names, name) == names.end())
      return invalid(
          fmt::format("'{}' takes {}, but got '{}'", artifact.name, fmt::join(names, ", "), excerpt(name)));
    if (std::ranges::count(arguments, name, [](const auto &one) { return one.first; }) > 1)
      return invalid(fmt::format("'{}' takes '{}' once, but got it twice", artifact.name, name));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = std::ranges::find(arguments, names[i], [](const auto &one) { return one.first; });
    if (found == arguments.end())
      return invalid(
          fmt::format("'{}' takes {}, but got no '{}'", artifact.name, fmt::join(names, ", "), names[i]));
    const bool isScalar = i + artifact.scalars.size() >= names.size();
    if (isScalar == std::holds_alternative<Tensor>(found->second))
      return invalid(fmt::format("argument '{}': expected a {}, but got a {}", names[i],
                                 isScalar ? "number" : "tensor", isScalar ? "tensor" : "number"));
    ordered.push_back(found->second);
  }
  return call(stream, ordered.data(), ordered.size());
}

Result<Kernel> tlc::jit(dsl::Program program, Device &device) {
  return jit(std::move(program), device, CompileOptions());
}

Result<Kernel> tlc::jit(dsl::Program program, Device &device, const CompileOptions &options) {
  CompileOptions forDevice = options;
  forDevice.target = device.properties().target;
  Result<Artifact> artifact = compile(std::move(program), forDevice);
  if (!artifact)
    return artifact.error();
  Result<std::shared_ptr<const LoadedProgram>> loaded = device.load(std::move(*artifact));
  if (!loaded)
    return loaded.error();
  return Kernel(std::make_shared<Kernel::State>(device, std::move(*loaded)));
}
