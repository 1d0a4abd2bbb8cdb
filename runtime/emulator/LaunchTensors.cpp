// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/LaunchTensors.h"

#include "runtime/device/TensorGeometry.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <limits>

namespace tlc::emulator {

std::vector<NamedTensor> namedTensors(const Artifact &artifact, const LaunchArguments &arguments) {
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < arguments.tensors.size(); ++i)
    if (const TensorView &tensor = arguments.tensors[i]; !isEmpty(tensor))
      for (size_t rank = 0; const void *address : addressesOf(tensor)) {
        const std::string &name = artifact.tensors[i].name;
        named.push_back({tensor.ofRanks.empty() ? name : fmt::format("{}.of({})", name, rank++),
                         reinterpret_cast<uint64_t>(address), unsigned(bytesOf(tensor.element, 1)),
                         tensor.shape, tensor.strides, unsigned(elementsPerUnit(tensor.element))});
      }
  return named;
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
