// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatedMemory.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace tlc {

namespace {

constexpr size_t allocationAlignment = 256;

Error invalid(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

} // namespace

Result<void *> EmulatedMemory::allocate(int device, size_t bytes, RaceCheck check) {
  if (bytes > SIZE_MAX / 2)
    return invalid(fmt::format("cannot allocate {} bytes", bytes));
  const size_t rounded = std::max(bytes, size_t(1)) + allocationAlignment - 1;
  void *address =
      std::aligned_alloc(allocationAlignment, rounded / allocationAlignment * allocationAlignment);
  const auto noMemory = [&] {
    return Error{ErrorKind::environment, fmt::format("the host has no {} bytes of memory left", bytes)};
  };
  if (!address)
    return noMemory();
  std::shared_ptr<void> memory(address, std::free);
  std::shared_ptr<emulator::WrittenBytes> written;
  if (check == RaceCheck::on) {
    written = emulator::WrittenBytes::create(bytes);
    if (!written)
      return noMemory();
  }
  const std::lock_guard lock(mutex);
  allocations.emplace(reinterpret_cast<uint64_t>(address),
                      Allocation{std::move(memory), std::move(written), bytes, device});
  return address;
}

Result<void> EmulatedMemory::free(int device, void *address) {
  if (!address)
    return {};
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(reinterpret_cast<uint64_t>(address));
  if (found == allocations.end() || found->second.device != device)
    return invalid(fmt::format("{} is not an allocation of this device", address));
  allocations.erase(found);
  return {};
}

void EmulatedMemory::freeAll(int device) {
  const std::lock_guard lock(mutex);
  std::erase_if(allocations, [&](const auto &entry) { return entry.second.device == device; });
}

const std::pair<const uint64_t, EmulatedMemory::Allocation> *
EmulatedMemory::below(const void *address) const {
  const auto after = allocations.upper_bound(reinterpret_cast<uint64_t>(address));
  return after == allocations.begin() ? nullptr : &*std::prev(after);
}

Result<void> EmulatedMemory::check(int device, const void *address, size_t bytes) const {
  if (bytes == 0)
    return {};
  const std::lock_guard lock(mutex);
  const auto *entry = below(address);
  if (!entry || entry->second.device != device)
    return invalid(fmt::format("{} is not memory of this device", address));
  const uint64_t offset = reinterpret_cast<uint64_t>(address) - entry->first;
  if (offset > entry->second.bytes || entry->second.bytes - offset < bytes)
    return invalid(
        fmt::format("{} bytes at {} are not inside one allocation of this device", bytes, address));
  return {};
}

void EmulatedMemory::markWritten(const void *address, size_t bytes) {
  const std::lock_guard lock(mutex);
  if (const auto *entry = below(address); entry && entry->second.written)
    entry->second.written->mark(reinterpret_cast<uint64_t>(address) - entry->first, bytes);
}

void EmulatedMemory::copyWritten(const void *to, const void *from, size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto *target = below(to), *source = below(from);
  if (target && source && target->second.written && source->second.written)
    target->second.written->copy(reinterpret_cast<uint64_t>(to) - target->first, *source->second.written,
                                 reinterpret_cast<uint64_t>(from) - source->first, bytes);
}

std::optional<int> EmulatedMemory::ownerOf(const void *address) const {
  const std::lock_guard lock(mutex);
  const auto *entry = below(address);
  if (!entry || reinterpret_cast<uint64_t>(address) - entry->first >= entry->second.bytes)
    return std::nullopt;
  return entry->second.device;
}

EmulatedMemory::View EmulatedMemory::viewOf(int device, const std::set<int> &peers) const {
  View view;
  const std::lock_guard lock(mutex);
  for (const auto &[base, allocation] : allocations) {
    const bool reachable = allocation.device == device || peers.contains(allocation.device);
    view.ranges.push_back({base, allocation.bytes, allocation.device, reachable, allocation.written.get()});
    view.kept.push_back(allocation.memory);
    view.kept.push_back(allocation.written);
  }
  return view;
}

} // namespace tlc
