// SPDX-License-Identifier: Apache-2.0
#include "runtime/aot/KernelState.h"

#include "runtime/device/TensorGeometry.h"
#include "runtime/support/Math.h"
#include "runtime/target/Target.h"

#include <fmt/format.h>
#include <utility>

using namespace tlc;
using namespace tlc::aot;

static thread_local LastError lastError;

void aot::rememberError(const char *reason) noexcept { lastError.remember(reason); }

const char *tlc_aot_last_error(void) { return lastError.get(); }

Error aot::ofKernel(std::string_view function, Error error) {
  return {error.kind, fmt::format("{}: {}", function, error.message)};
}

Error aot::nullPointer(const tlc_aot_kernel *kernel, std::string_view expected) {
  return ofKernel(kernel->function,
                  {.message = fmt::format("expected {}, but got a null pointer", expected)});
}

Result<size_t> LoadedKernel::workspaceBytes(const void *given) const {
  const LaunchArguments arguments = layout.read(artifact(), given);
  Result<std::vector<WorkspaceRequest>> requests =
      workspacesOf(artifact(), arguments.tensors, device->properties());
  if (!requests)
    return requests.error();
  Result<WorkspaceBlock> block = WorkspaceBlock::of(*requests);
  return block ? block->bytes : Result<size_t>(block.error());
}

Result<void> aot::checkWorkspace(const Artifact &artifact, std::span<const TensorView> tensors,
                                 Workspace workspace, size_t needed) {
  if (workspace.bytes < needed)
    return Error{.message = fmt::format("expected a workspace of at least {} bytes, but got {}", needed,
                                        workspace.bytes)};
  if (needed == 0)
    return {};
  if (!workspace.address || reinterpret_cast<uintptr_t>(workspace.address) % workspaceAlignment != 0)
    return Error{.message =
                     fmt::format("expected the address of a workspace that is a multiple of {}, but got {}",
                                 workspaceAlignment, fmt::ptr(workspace.address))};
  const TensorView memory = contiguousView(workspace.address, ElementType::u8, {int64_t(needed)});
  for (size_t i = 0; i != tensors.size(); ++i)
    if (mayOverlap(memory, tensors[i]))
      return Error{.message =
                       fmt::format("argument 'workspace': expected memory of its own because {} writes "
                                   "it, but it overlaps argument '{}'",
                                   artifact.name, artifact.tensors[i].name)};
  return {};
}

Result<LaunchArguments> LoadedKernel::argumentsOf(const void *given, Workspace workspace) const {
  LaunchArguments arguments = layout.read(artifact(), given);
  Result<std::vector<WorkspaceRequest>> requests =
      workspacesOf(artifact(), arguments.tensors, device->properties());
  if (!requests)
    return requests.error();
  for (size_t i = 0; i != arguments.tensors.size(); ++i)
    if (Result<void> valid = checkMemory(artifact().tensors[i], arguments.tensors[i]); !valid)
      return valid.error();
  if (Result<void> apart = checkWrittenApart(artifact(), arguments.tensors, artifact().name); !apart)
    return apart.error();
  if (requests->empty())
    return arguments;
  Result<WorkspaceBlock> block = WorkspaceBlock::of(*requests);
  if (!block)
    return block.error();
  if (Result<void> valid = checkWorkspace(artifact(), arguments.tensors, workspace, block->bytes); !valid)
    return valid.error();
  auto *begin = static_cast<std::byte *>(workspace.address);
  for (size_t i = 0; i != requests->size(); ++i)
    arguments.tensors.push_back((*requests)[i].view(begin + block->offsets[i]));
  return arguments;
}

bool LoadedKernel::move(LaunchArguments &kept, const void *given, Workspace workspace) const {
  const size_t count = layout.tensors();
  const std::span tensors = std::span(kept.tensors).first(count);
  bool moves = false;
  for (size_t i = 0; i != count; ++i) {
    void *const address = layout.address(given, i);
    moves |= std::exchange(kept.tensors[i].data, address) != address;
  }
  if (kept.tensors.size() != count) {
    auto *first = static_cast<std::byte *>(kept.tensors[count].data);
    auto *begin = static_cast<std::byte *>(workspace.address);
    const TensorView &last = kept.tensors.back();
    const size_t needed = alignTo(
        size_t(static_cast<std::byte *>(last.data) - first) + size_t(*spanBytes(last)), workspaceAlignment);
    if (moves || begin != first || workspace.bytes < needed)
      if (!checkWorkspace(artifact(), tensors, workspace, needed))
        return false;
    for (size_t i = count; i != kept.tensors.size(); ++i)
      kept.tensors[i].data = begin + (static_cast<std::byte *>(kept.tensors[i].data) - first);
  }
  return !moves || checkWrittenApart(artifact(), tensors, artifact().name);
}

Result<void> LoadedKernel::launch(const void *given, Workspace workspace, void *stream) {
  std::unique_ptr<LaunchArguments> kept =
      arguments.take([&](const LaunchArguments &each) { return layout.fits(each, given); });
  if (kept && !move(*kept, given, workspace))
    kept.reset(); // a first launch has the error
  if (!kept) {
    Result<LaunchArguments> made = argumentsOf(given, workspace);
    if (!made)
      return made.error();
    kept = std::make_unique<LaunchArguments>(std::move(*made));
  }
  Result<void> launched = device->launch(*program, *kept, {stream});
  arguments.keep(std::move(kept));
  return launched;
}

Result<const ProgramView *> aot::chooseProgram(const KernelView &image, const DeviceProperties &device) {
  const Target &own = *findTarget(device.target);
  const ProgramView *best = nullptr;
  for (const Target &target : allTargets())
    if (target.runsOn(own.computeMajor, own.computeMinor))
      for (const ProgramView &program : image.programs)
        if (program.target == target.name)
          best = &program;
  std::string names;
  for (const ProgramView &program : image.programs)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", program.target);
  if (!best)
    return Error{ErrorKind::environment,
                 fmt::format("expected a GPU that runs code for {}, but {} runs {}; build the archive with "
                             "--targets {}",
                             names, device.name, device.target, device.target)};
  return best;
}

Result<KernelState *> KernelState::of(tlc_aot_kernel *kernel) {
  if (kernel->version != kernelVersion)
    return ofKernel(kernel->function,
                    {.message = fmt::format(
                         "expected an object of 'tlc build' of version {}, but got version {}; build the "
                         "archive again, with the tlc that libtlc_runtime is from",
                         kernelVersion, kernel->version)});
  std::atomic_ref<void *> state(kernel->state);
  if (void *made = state.load(std::memory_order_acquire))
    return static_cast<KernelState *>(made);
  Result<KernelView> image =
      viewImage({static_cast<const std::byte *>(kernel->image), size_t(kernel->image_bytes)});
  if (!image)
    return ofKernel(kernel->function, image.error());
  std::unique_ptr<KernelState> own(new KernelState(std::move(*image)));
  void *other = nullptr;
  if (!state.compare_exchange_strong(other, own.get()))
    return static_cast<KernelState *>(other);
  return own.release();
}
