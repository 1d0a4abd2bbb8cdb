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

namespace {
bool isDerived(const TensorSpec &spec, DerivedInputs derived) {
  return spec.derived && (derived == DerivedInputs::computed || isInteger(spec.element));
}

Result<void> fillComputed(std::span<const TensorSpec> specs, DerivedInputs derived, const InputChange &change,
                          std::vector<HostTensor> &tensors) {
  std::vector<std::vector<double>> contents;
  for (size_t i = 0; i != specs.size(); ++i) {
    if (!isDerived(specs[i], derived))
      continue;
    if (contents.empty())
      for (const HostTensor &tensor : tensors)
        contents.push_back(tensor.values());
    Result<std::vector<double>> computed = specs[i].derived(contents);
    if (!computed)
      return computed.error();
    tensors[i].fill(*computed);
    if (change)
      change(tensors[i]);
    if (specs[i].isPadding)
      tensors[i].poisonWhere(specs[i].isPadding);
    contents[i] = tensors[i].values();
  }
  return {};
}
} // namespace

Result<InitialTensors> InitialTensors::create(std::vector<TensorSpec> specs, Placement placement,
                                              Random &random, DerivedInputs derived,
                                              const LastStrides &lastStrides, MemoryNeed need,
                                              const InputChange &change) {
  const auto placementOf = [&](const TensorSpec &spec) {
    Placement own = spec.isTable ? Placement() : placement;
    if (auto found = lastStrides.find(spec.name); found != lastStrides.end())
      own.lastStride = found->second;
    return own;
  };
  MemoryCheck memory(need); // before any is filled: that takes time where they are large
  for (const TensorSpec &spec : specs)
    if (Result<void> fits = memory.add(spec.name, spec.element, spec.shape, placementOf(spec), spec.access);
        !fits)
      return fits.error();
  InitialTensors initial;
  for (const TensorSpec &spec : specs) {
    Result<HostTensor> created = HostTensor::create(spec.name, spec.element, spec.shape, placementOf(spec));
    if (!created)
      return created.error();
    created->poison();
    bool isRead = spec.access != Access::output && !isDerived(spec, derived);
    if (isRead && !spec.contents.empty())
      created->fill(spec.contents);
    else if (isRead)
      created->fillRandom(random, spec.low, spec.high);
    if (isRead && change)
      change(*created);
    if (spec.isPadding && spec.access != Access::output) // an output's padding keeps the poison, too
      created->poisonWhere(spec.isPadding);
    initial.tensors.push_back(std::move(*created));
  }
  if (Result<void> filled = fillComputed(specs, derived, change, initial.tensors); !filled)
    return filled.error();
  initial.specs = std::move(specs);
  return initial;
}

Result<DeviceArguments> DeviceArguments::create(Device &device, const Artifact &artifact,
                                                const InitialTensors &initial, int64_t rank, int64_t ranks,
                                                std::vector<ScalarValue> scalars) {
  const size_t count = initial.tensors.size() / size_t(ranks), first = size_t(rank) * count;
  DeviceArguments arguments(device, initial, first, count);
  arguments.launch.rank = rank;
  arguments.launch.ranks = ranks;
  arguments.launch.scalars = std::move(scalars);
  for (size_t i = 0; i != count; ++i) {
    const HostTensor &tensor = initial.tensors[first + i];
    Result<DeviceMemory> memory = DeviceMemory::allocate(device, tensor.bytes().size());
    if (!memory)
      return memory.error();
    Result<TensorView> view = tensor.view(memory->address());
    arguments.memory.push_back(std::move(*memory));
    if (initial.specs[first + i].isTable)
      view = arguments.tableOf(*view);
    if (!view)
      return view.error();
    arguments.launch.tensors.push_back(std::move(*view));
  }
  Result<std::vector<WorkspaceRequest>> requests =
      workspacesOf(artifact, arguments.launch.tensors, device.properties(), rank, ranks);
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
  for (size_t i = 0; i != count; ++i)
    if (initial.specs[first + i].access == Access::input)
      if (Result<void> done = arguments.upload(i); !done)
        return done.error();
  if (Result<void> done = arguments.reset(); !done)
    return done.error();
  connect({&arguments, 1}, artifact); // a rank alone has all that there is
  return arguments;
}

void DeviceArguments::connect(std::span<DeviceArguments> ranks, const Artifact &artifact) {
  for (size_t i = 0; i != artifact.tensors.size(); ++i) {
    if (!artifact.tensors[i].symmetric)
      continue;
    std::vector<void *> addresses;
    for (const DeviceArguments &rank : ranks)
      addresses.push_back(rank.launch.tensors[i].data);
    for (DeviceArguments &rank : ranks)
      rank.launch.tensors[i].ofRanks = addresses;
  }
}

Result<void> DeviceArguments::reset() {
  for (size_t i = 0; i != count; ++i)
    if (before.specs[first + i].access != Access::input)
      if (Result<void> done = upload(i); !done)
        return done;
  for (size_t i = 0; i != workspaceBytes.size(); ++i)
    if (Result<void> done = poison(memory[count + i], workspaceBytes[i]); !done)
      return done;
  return {};
}

Result<HostTensor> DeviceArguments::fetch(size_t tensor) const {
  HostTensor fetched = before.tensors[first + tensor];
  std::span<std::byte> bytes = fetched.bytes();
  if (Result<void> done = device.copyToHost(bytes.data(), memory[tensor].address(), bytes.size()); !done)
    return done.error();
  return fetched;
}

Result<TensorView> DeviceArguments::tableOf(const TensorView &tensor) {
  std::vector<std::byte *> addresses;
  for (int64_t member = 0; member != tensor.shape[0]; ++member)
    addresses.push_back(static_cast<std::byte *>(tensor.data) +
                        bytesOf(tensor.element, member * tensor.strides[0]));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(addresses));
  Result<DeviceMemory> memory = DeviceMemory::allocate(device, bytes.size());
  if (!memory)
    return memory.error();
  if (Result<void> done = device.copyToDevice(memory->address(), bytes.data(), bytes.size()); !done)
    return done.error();
  tables.push_back(std::move(*memory));
  return TensorView{tables.back().address(), ElementType::i64, {tensor.shape[0]}, {1}};
}

Result<void> DeviceArguments::upload(size_t tensor) {
  std::span<const std::byte> bytes = before.tensors[first + tensor].bytes();
  return device.copyToDevice(memory[tensor].address(), bytes.data(), bytes.size());
}

Result<void> DeviceArguments::poison(const DeviceMemory &memory, size_t bytes) {
  const std::vector<std::byte> chunk(std::min<size_t>(bytes, size_t(1) << 22), std::byte{0xFF});
  for (size_t done = 0; done < bytes; done += chunk.size())
    if (Result<void> copied = device.copyToDevice(static_cast<std::byte *>(memory.address()) + done,
                                                  chunk.data(), std::min(chunk.size(), bytes - done));
        !copied)
      return copied;
  return {};
}
