// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/LaunchTensors.h"

#include "runtime/device/TensorGeometry.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <limits>

namespace tlc::emulator {

namespace {

/// Calls `act` for each address of each tensor, of each rank, with the address that kernels get; 0: the same.
void forAddresses(
    std::span<const TensorView> tensors,
    const std::function<void(size_t tensor, size_t rank, uint64_t address, uint64_t inKernels)> &act) {
  for (size_t i = 0, number = 0; i < tensors.size(); ++i)
    for (size_t rank = 0; rank < addressesOf(tensors[i]).size(); ++rank, ++number) {
      const auto address = reinterpret_cast<uint64_t>(addressesOf(tensors[i])[rank]);
      const bool isNull = address == 0 || number >= mostTensorAddresses;
      act(i, rank, address, isNull ? 0 : tensorAddress(number, address));
    }
}

} // namespace

std::vector<NamedTensor> namedTensors(const Artifact &artifact, const LaunchArguments &arguments) {
  std::vector<NamedTensor> named;
  forAddresses(arguments.tensors, [&](size_t i, size_t rank, uint64_t address, uint64_t inKernels) {
    const TensorView &tensor = arguments.tensors[i];
    const std::string &name = artifact.tensors[i].name;
    named.push_back({tensor.ofRanks.empty() ? name : fmt::format("{}.of({})", name, rank), address,
                     unsigned(bytesOf(tensor.element, 1)), tensor.shape, tensor.strides,
                     unsigned(elementsPerUnit(tensor.element)), inKernels});
  });
  return named;
}

std::vector<TensorView> tensorsInKernels(const LaunchArguments &arguments) {
  std::vector<TensorView> tensors = arguments.tensors;
  forAddresses(arguments.tensors, [&](size_t i, size_t rank, uint64_t address, uint64_t inKernels) {
    void *seen = reinterpret_cast<void *>(inKernels != 0 ? inKernels : address);
    TensorView &tensor = tensors[i];
    if (tensor.ofRanks.empty())
      tensor.data = seen;
    else
      tensor.ofRanks[rank] = seen;
    if (int64_t(rank) == arguments.rank)
      tensor.data = seen;
  });
  return tensors;
}

TensorRanges::TensorRanges(const Artifact &artifact, const LaunchArguments &arguments,
                           std::span<const NamedTensor> tensors, const MemoryMap &memory) {
  forAddresses(arguments.tensors, [&, number = size_t(0)](size_t i, size_t, uint64_t address,
                                                          uint64_t inKernels) mutable {
    const NamedTensor &named = tensors[number++];
    const TensorView &tensor = arguments.tensors[i];
    const MemoryRange *own = memory.find(address);
    if (inKernels == 0 || isEmpty(tensor) || !own)
      return;
    const bool isWorkspace = artifact.tensors[i].access == Access::workspace;
    uint64_t bytes = uint64_t(spanBytes(tensor).value_or(0));
    if (isWorkspace && !tensor.shape.empty())
      bytes = std::max(bytes, uint64_t(bytesOf(tensor.element, tensor.shape[0] * tensor.strides[0])));
    const uint64_t offset = address - own->address;
    MemoryRange &range = ranges.emplace_back(*own);
    range.address = inKernels;
    range.bytes = std::min(bytes, own->bytes - offset);
    range.toMemory = address - inKernels;
    range.inWritten = offset;
    if (auto gaps = isWorkspace ? std::nullopt : ElementRuns::of(named))
      range.runs = &runs.emplace_back(std::move(*gaps));
  });
}

void nameMembers(std::vector<NamedTensor> &tensors, const Artifact &artifact, const MemoryMap &memory) {
  constexpr uint64_t mostBytes = std::numeric_limits<unsigned>::max();
  std::vector<NamedTensor> members;
  for (const NamedTensor &table : tensors) {
    const auto argument = std::ranges::find(artifact.tensors, table.name, &TensorArgument::name);
    if (argument == artifact.tensors.end() || argument->access != Access::input ||
        argument->element != ElementType::i64 || table.shape.size() != 1)
      continue;
    const MemoryRange *own = memory.find(table.address);
    for (int64_t number = 0; own && number != table.shape[0]; ++number) {
      const uint64_t at = table.address + uint64_t(number * table.strides[0]) * sizeof(uint64_t);
      uint64_t address = 0;
      if (at - own->address + sizeof(address) > own->bytes)
        break;
      std::memcpy(&address, reinterpret_cast<const void *>(at), sizeof(address));
      if (const MemoryRange *range = memory.find(address))
        members.push_back({fmt::format("{}.of({})", table.name, number), address,
                           unsigned(std::min(range->address + range->bytes - address, mostBytes))});
    }
  }
  std::vector<uint64_t> begins;
  for (const NamedTensor &member : members)
    begins.push_back(member.address);
  std::ranges::sort(begins);
  for (NamedTensor &member : members)
    if (const auto next = std::ranges::upper_bound(begins, member.address); next != begins.end())
      member.elementBytes = unsigned(std::min(uint64_t(member.elementBytes), *next - member.address));
  std::ranges::move(members, std::back_inserter(tensors));
}

void giveMulticastAddresses(LaunchArguments &arguments) {
  for (size_t i = 0; i < arguments.tensors.size(); ++i)
    if (TensorView &tensor = arguments.tensors[i]; !tensor.ofRanks.empty())
      tensor.ofAll = reinterpret_cast<void *>(multicastAddress(i));
}

std::vector<MulticastRange> multicastRanges(const LaunchArguments &arguments) {
  std::vector<MulticastRange> ranges;
  for (const TensorView &tensor : arguments.tensors) {
    if (!tensor.ofAll || isEmpty(tensor))
      continue;
    MulticastRange &range = ranges.emplace_back();
    range.address = reinterpret_cast<uint64_t>(tensor.ofAll);
    range.bytes = uint64_t(spanBytes(tensor).value_or(0));
    for (const void *address : tensor.ofRanks)
      range.members.push_back(reinterpret_cast<uint64_t>(address));
  }
  return ranges;
}

} // namespace tlc::emulator
