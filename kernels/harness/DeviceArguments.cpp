// SPDX-License-Identifier: Apache-2.0
/// \file
/// Allocates, fills and reads back.
#include "kernels/harness/DeviceArguments.h"

#include "runtime/device/LaunchPlan.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::kernels;

Result<DeviceMemory> DeviceMemory::allocate(Device &device, size_t bytes) {
  Result<void *> memory = device.allocate(bytes);
  if (!memory)
    return memory.error();
  return DeviceMemory(device, *memory);
}

DeviceMemory::~DeviceMemory() {
  if (memory)
    (void)device.free(memory);
}

Result<DeviceArguments> DeviceArguments::create(Device &device, const Artifact &artifact,
                                                std::vector<TensorSpec> specs, Placement placement) {
  DeviceArguments arguments(device, std::move(specs));
  int64_t all = 0; // before any is filled: that takes time where they are large
  for (const TensorSpec &spec : arguments.specs) {
    Result<int64_t> bytes = HostTensor::bytesOf(spec.name, spec.element, spec.shape, placement, all);
    if (!bytes)
      return bytes.error();
    all += *bytes;
  }
  for (const TensorSpec &spec : arguments.specs) {
    Result<HostTensor> created = HostTensor::create(spec.name, spec.element, spec.shape, placement);
    if (!created)
      return created.error();
    Result<DeviceMemory> memory = DeviceMemory::allocate(device, created->bytes().size());
    if (!memory)
      return memory.error();
    arguments.launch.tensors.push_back(created->view(memory->address()));
    arguments.memory.push_back(std::move(*memory));
    arguments.host.push_back(std::move(*created));
  }
  Result<std::vector<int64_t>> dimensions = bindDimensions(artifact, arguments.launch.tensors);
  if (!dimensions)
    return dimensions.error();
  arguments.before.resize(arguments.host.size());
  Result<std::vector<WorkspaceRequest>> requests =
      workspaceRequests(artifact, *dimensions, device.properties());
  if (!requests)
    return requests.error();
  for (const WorkspaceRequest &request : *requests) {
    Result<DeviceMemory> memory = DeviceMemory::allocate(device, request.bytes);
    if (!memory)
      return memory.error();
    arguments.launch.tensors.push_back(request.view(memory->address()));
    arguments.memory.push_back(std::move(*memory));
    arguments.workspaceBytes.push_back(request.bytes);
  }
  return arguments;
}

Result<void> kernels::fillLast(const TensorSpec &spec, std::span<HostTensor> tensors, Random &random,
                               DerivedInputs derived) {
  HostTensor &tensor = tensors.back();
  tensor.poison();
  if (spec.derived && derived == DerivedInputs::computed) {
    std::vector<std::vector<double>> before;
    for (const HostTensor &other : tensors.first(tensors.size() - 1))
      before.push_back(other.values());
    Result<std::vector<double>> contents = spec.derived(before);
    if (!contents)
      return contents.error();
    tensor.fill(*contents);
  } else if (!spec.contents.empty())
    tensor.fill(spec.contents);
  else if (spec.access != Access::output)
    tensor.fillRandom(random, spec.low, spec.high);
  if (spec.isPadding)
    tensor.poisonWhere(spec.isPadding);
  return {};
}

Result<void> DeviceArguments::fill(Random &random, DerivedInputs derived) {
  for (size_t i = 0; i != host.size(); ++i) {
    Access access = specs[i].access;
    if (Result<void> filled = fillLast(specs[i], std::span(host).first(i + 1), random, derived); !filled)
      return filled;
    if (access == Access::inout)
      before[i] = host[i];
    if (access == Access::input)
      if (Result<void> done = upload(i); !done)
        return done;
  }
  return reset();
}

Result<void> DeviceArguments::reset() {
  for (size_t i = 0; i != host.size(); ++i) {
    Access access = specs[i].access;
    if (access == Access::input)
      continue;
    if (access == Access::inout)
      host[i] = *before[i];
    else
      host[i].poison();
    if (Result<void> done = upload(i); !done)
      return done;
  }
  for (size_t i = 0; i != workspaceBytes.size(); ++i)
    if (Result<void> done = poison(memory[host.size() + i], workspaceBytes[i]); !done)
      return done;
  return {};
}

Result<void> DeviceArguments::fetch() {
  for (size_t i = 0; i != host.size(); ++i) {
    if (specs[i].access == Access::input)
      continue;
    std::span<std::byte> bytes = host[i].bytes();
    if (Result<void> done = device->copyToHost(bytes.data(), memory[i].address(), bytes.size()); !done)
      return done;
  }
  return {};
}

Result<void> DeviceArguments::upload(size_t tensor) {
  std::span<const std::byte> bytes = host[tensor].bytes();
  return device->copyToDevice(memory[tensor].address(), bytes.data(), bytes.size());
}

Result<void> DeviceArguments::poison(const DeviceMemory &memory, size_t bytes) {
  const std::vector<std::byte> chunk(std::min<size_t>(bytes, size_t(1) << 22), std::byte{0xFF});
  for (size_t done = 0; done < bytes; done += chunk.size())
    if (Result<void> copied = device->copyToDevice(static_cast<std::byte *>(memory.address()) + done,
                                                   chunk.data(), std::min(chunk.size(), bytes - done));
        !copied)
      return copied;
  return {};
}
