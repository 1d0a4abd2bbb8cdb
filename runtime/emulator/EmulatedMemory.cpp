// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatedMemory.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tlc {

namespace {

constexpr size_t allocationAlignment = 256;

Error invalid(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

/// Address space without memory before and after an allocation, so that an address that is computed from it
/// beyond its end is not in another one; the more allocations there are, the less.
constexpr std::pair<size_t, size_t> guards[] = {
    {256, size_t(1) << 36}, {4096, size_t(1) << 32}, {65536, size_t(1) << 20}};

/// Memory between guards, or null; aligned as allocations of GPUs are, and to no more.
std::shared_ptr<void> allocateApart(size_t bytes, size_t allocations) {
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  const size_t used = alignTo(std::max(bytes, size_t(1)) + allocationAlignment, page);
  for (const auto &[most, guard] : guards) {
    if (allocations >= most)
      continue;
    const size_t whole = used + 2 * guard;
    void *begin = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED)
      continue;
    std::byte *memory = static_cast<std::byte *>(begin) + guard;
    if (mprotect(memory, used, PROT_READ | PROT_WRITE) != 0) {
      munmap(begin, whole);
      continue;
    }
    return {memory + allocationAlignment, [begin, whole](void *) { munmap(begin, whole); }};
  }
  return {std::aligned_alloc(allocationAlignment, alignTo(std::max(bytes, size_t(1)), allocationAlignment)),
          std::free};
}

} // namespace

Result<void *> EmulatedMemory::allocate(int device, size_t bytes, RaceCheck check) {
  if (bytes > SIZE_MAX / 2)
    return invalid(fmt::format("cannot allocate {} bytes", bytes));
  std::shared_ptr<void> memory = allocateApart(bytes, [&] {
    const std::lock_guard lock(mutex);
    return allocations.size();
  }());
  void *address = memory.get();
  const auto noMemory = [&] {
    return Error{ErrorKind::environment, fmt::format("the host has no {} bytes of memory left", bytes)};
  };
  if (!address)
    return noMemory();
  std::shared_ptr<emulator::WrittenBytes> written;
  if (check != RaceCheck::off) {
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
