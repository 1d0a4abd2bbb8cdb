// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of archives on an emulated device, in a file of its own: what does not refer to it is linked
/// without the emulator.
#include "runtime/aot/KernelState.h"
#include "runtime/artifact/Serialize.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <span>
#include <vector>

using namespace tlc;
using namespace tlc::aot;

/// The first program, on a device of its target.
static Result<std::unique_ptr<LoadedKernel>> loadOnEmulator(const KernelView &image) {
  Result<Artifact> artifact = deserialize(image.programs.front().artifact);
  if (!artifact)
    return artifact.error();
  EmulatorOptions options;
  options.target = findTarget(artifact->target);
  std::shared_ptr<Device> device = createEmulatorDevice(options);
  Result<std::shared_ptr<const LoadedProgram>> program = device->load(std::move(*artifact));
  if (!program)
    return program.error();
  return std::make_unique<LoadedKernel>(std::move(device), std::move(*program));
}

static Result<LoadedKernel *> find(tlc_aot_kernel *kernel) {
  Result<KernelState *> state = KernelState::of(kernel);
  return state ? (*state)->on(KernelState::emulator, loadOnEmulator) : state.error();
}

namespace {

/// Memory of the emulator with what tensors have in memory of the host. Those that have bytes in common are
/// in one piece.
class Mirror {
public:
  explicit Mirror(Device &device) : device(device) {}
  Mirror(const Mirror &) = delete;
  ~Mirror() {
    for (const Piece &piece : pieces)
      (void)device.free(piece.memory);
  }

  /// Moves the tensors there.
  Result<void> copyIn(const Artifact &artifact, std::span<TensorView> tensors);
  /// The other way, of those that are written.
  Result<void> copyOut();
  /// More memory, without content.
  Result<void *> allocate(size_t bytes);

private:
  struct Piece {
    uintptr_t begin = 0, end = 0; ///< in memory of the host
    bool isWritten = false;
    void *memory = nullptr;

    std::byte *inMemory() const { return static_cast<std::byte *>(memory) + begin % workspaceAlignment; }
    void *onHost() const { return reinterpret_cast<void *>(begin); }
    bool has(uintptr_t address) const { return begin <= address && address < end; }
  };
  Device &device;
  std::vector<Piece> pieces;
};

Result<void *> Mirror::allocate(size_t bytes) {
  Result<void *> memory = device.allocate(bytes);
  if (memory)
    pieces.push_back({.memory = *memory});
  return memory;
}

Result<void> Mirror::copyIn(const Artifact &artifact, std::span<TensorView> tensors) {
  std::vector<Piece> spans;
  for (size_t i = 0; i != tensors.size(); ++i)
    if (const int64_t bytes = *spanBytes(tensors[i]); bytes != 0) {
      const auto begin = reinterpret_cast<uintptr_t>(tensors[i].data);
      spans.push_back({begin, begin + uintptr_t(bytes), artifact.tensors[i].access != Access::input});
    }
  std::ranges::sort(spans, {}, &Piece::begin);
  const size_t first = pieces.size();
  for (const Piece &span : spans)
    if (pieces.size() == first || span.begin >= pieces.back().end) {
      pieces.push_back(span);
    } else {
      pieces.back().end = std::max(pieces.back().end, span.end);
      pieces.back().isWritten |= span.isWritten;
    }
  for (Piece &piece : std::span(pieces).subspan(first)) {
    const size_t bytes = piece.end - piece.begin;
    Result<void *> memory = device.allocate(bytes + workspaceAlignment); // with the same alignment
    if (!memory)
      return memory.error();
    piece.memory = *memory;
    if (Result<void> copied = device.copyToDevice(piece.inMemory(), piece.onHost(), bytes); !copied)
      return copied;
    for (TensorView &tensor : tensors)
      if (const auto address = reinterpret_cast<uintptr_t>(tensor.data);
          *spanBytes(tensor) != 0 && piece.has(address))
        tensor.data = piece.inMemory() + (address - piece.begin);
  }
  return {};
}

Result<void> Mirror::copyOut() {
  for (const Piece &piece : pieces)
    if (piece.isWritten)
      if (Result<void> copied = device.copyToHost(piece.onHost(), piece.inMemory(), piece.end - piece.begin);
          !copied)
        return copied;
  return {};
}

Result<void> emulate(const LoadedKernel &kernel, const void *given) {
  Result<size_t> bytes = kernel.workspaceBytes(given);
  if (!bytes)
    return bytes.error();
  Mirror mirror(kernel.home());
  Result<void *> workspace = mirror.allocate(*bytes);
  if (!workspace)
    return workspace.error();
  Result<LaunchArguments> arguments = kernel.argumentsOf(given, {*workspace, *bytes});
  if (!arguments)
    return arguments.error();
  const std::span tensors = std::span(arguments->tensors).first(firstWorkspaceOf(kernel.artifact()));
  if (Result<void> copied = mirror.copyIn(kernel.artifact(), tensors); !copied)
    return copied;
  if (Result<void> launched = kernel.launchOnce(*arguments); !launched)
    return launched;
  return mirror.copyOut();
}

} // namespace

int tlc_aot_emulate(const void *arguments, tlc_aot_kernel *kernel) {
  return callOf([&]() -> Result<void> {
    if (!arguments)
      return nullPointer(kernel, "arguments");
    Result<LoadedKernel *> found = find(kernel);
    if (!found)
      return found.error();
    Result<void> emulated = emulate(**found, arguments);
    return emulated ? emulated : ofKernel(kernel->function, emulated.error());
  });
}
