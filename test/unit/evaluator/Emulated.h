// SPDX-License-Identifier: Apache-2.0
/// \file
/// The same programs compiled, on the emulator.
#pragma once

#include "kernels/harness/ElementBits.h"
#include "kernels/library/Compile.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "test/unit/evaluator/Evaluated.h"

namespace tlc::evaluator {

/// The last tensor after the compiled program, or what the device said; the numbers go in and out as bytes of
/// device memory.
inline Result<Tensor> tryCompiled(const Arguments &arguments, const std::function<void(dsl::Scope &)> &body,
                                  const CompileOptions &options = {}) {
  Result<Artifact> artifact = compile(dsl::Program::trace("test", body), options);
  INFO((artifact ? "" : artifact.error().message));
  REQUIRE(artifact);
  std::unique_ptr<Device> device = createEmulatorDevice();
  auto program = device->load(std::move(*artifact));
  REQUIRE(program);
  LaunchArguments launch;
  std::vector<std::byte> bytes;
  for (const Tensor &tensor : arguments.tensors) {
    bytes.assign(tensor.elements.size() * sizeInBytes(tensor.type), std::byte(0xff));
    for (size_t i = 0; i < tensor.elements.size(); ++i)
      if (tensor.elements[i].defined)
        kernels::storeElement(tensor.type, &bytes[i * sizeInBytes(tensor.type)], values(tensor)[i]);
    Result<void *> memory = device->allocate(bytes.size());
    REQUIRE(memory);
    REQUIRE(device->copyToDevice(*memory, bytes.data(), bytes.size()));
    launch.tensors.push_back(contiguousView(*memory, tensor.type, tensor.extents));
  }
  Result<void> done = device->launch(**program, launch);
  if (done)
    done = device->synchronize();
  if (!done)
    return done.error();
  REQUIRE(device->copyToHost(bytes.data(), launch.tensors.back().data, bytes.size()));
  Tensor result = arguments.tensors.back();
  for (size_t i = 0; i < result.elements.size(); ++i)
    result.elements[i] =
        elementOf(result.type, kernels::loadElement(result.type, &bytes[i * sizeInBytes(result.type)]));
  return result;
}

/// The same; an error fails the running test.
inline Tensor compiled(const Arguments &arguments, const std::function<void(dsl::Scope &)> &body) {
  Result<Tensor> result = tryCompiled(arguments, body);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *result;
}

} // namespace tlc::evaluator
