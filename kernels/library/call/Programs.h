// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs on one device, compiled and loaded when they are needed first; their workspaces and launches.
#pragma once

#include "compiler/dsl/dsl.h"
#include "compiler/pipeline/Options.h"
#include "kernels/Describe.h"
#include "kernels/library/call/ArtifactCache.h"
#include "kernels/library/call/Schema.h"
#include "runtime/cache/MemoryCache.h"
#include "runtime/device/Device.h"
#include "runtime/target/Target.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace tlc::kernels {

/// Memory of the device that one call has for itself until it is done.
struct Workspace {
  void *data = nullptr; ///< a multiple of `workspaceAlignment`, as `Device::allocate` gives it
  size_t bytes = 0;
};

/// Whether it has the bytes that are needed. `space` is where its `workspaceSize` is.
Result<void> checkWorkspace(const Workspace &workspace, size_t needed, std::string_view space);

/// What a call launches.
struct CallProgram {
  std::string_view call;               ///< its name, which lasts
  KeyBuilder key;                      ///< of all that decides the program but target and build
  std::function<Result<void>()> check; ///< of options; done before the program is traced the first time
  std::function<dsl::Program()> trace;
};

/// Of a configuration that describes itself. `call` is a text that lasts.
template <class Config>
CallProgram callProgram(std::string_view call, const Config &config,
                        const std::function<dsl::Program()> &trace) {
  KeyBuilder key;
  key.add(call);
  for (int64_t number : numbersOf(config))
    key.add(number);
  return {.call = call,
          .key = std::move(key),
          .check = [call = std::string(call), config] { return checkOptions(call, config); },
          .trace = trace};
}

/// Kept once they are loaded. Safe to use from several threads.
class Programs {
public:
  /// Both outlive it. Devices that share `artifacts` compile a program once.
  Programs(Device &device, ArtifactCache &artifacts) : onDevice(device), artifacts(artifacts) {}

  Device &device() const { return onDevice; }
  /// What programs are compiled for. An error if no code can be generated for the device.
  Result<const Target *> target() const;
  Result<std::shared_ptr<const LoadedProgram>> load(const CallProgram &program);
  /// For a launch on the stream: an error if the program is not loaded and the stream is captured.
  Result<std::shared_ptr<const LoadedProgram>> loadFor(const CallProgram &program, Stream stream);
  /// A program of one's own; equal ones are compiled and loaded once.
  Result<std::shared_ptr<const LoadedProgram>> load(dsl::Program program);

  /// Bytes of workspace for these tensors. Loads the program.
  Result<size_t> workspaceSize(const CallProgram &program, const Schema &schema);
  /// Checks memory and workspace, and enqueues the launches.
  Result<void> launch(const CallProgram &program, const Schema &schema, Workspace workspace, Stream stream);

private:
  CompileOptions optionsOfDevice() const;

  Device &onDevice;
  ArtifactCache &artifacts;
  MemoryCache<LoadedProgram> loaded;
};

/// Workspace of a typed call whose arguments have been checked. `call` has a `schema`, `programOf(*call)` is
/// its CallProgram or what is wrong with it.
template <class Call, class ProgramOf>
Result<size_t> workspaceSize(Programs &programs, const Result<Call> &call, const ProgramOf &programOf) {
  if (!call)
    return call.error();
  Result<CallProgram> program = programOf(*call);
  if (!program)
    return program.error();
  return programs.workspaceSize(*program, call->schema);
}

/// Its launch. Memory comes first: which program suits may depend on addresses.
template <class Call, class ProgramOf>
Result<void> launch(Programs &programs, Stream stream, Workspace workspace, const Result<Call> &call,
                    const ProgramOf &programOf) {
  if (!call)
    return call.error();
  if (Result<void> valid = call->schema.checkMemory(); !valid)
    return valid;
  Result<CallProgram> program = programOf(*call);
  if (!program)
    return program.error();
  if (Result<void> apart = call->schema.checkApart(); !apart)
    return apart;
  return programs.launch(*program, call->schema, workspace, stream);
}

} // namespace tlc::kernels
