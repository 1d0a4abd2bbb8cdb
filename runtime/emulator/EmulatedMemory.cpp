// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatedMemory.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tlc {

namespace {

constexpr size_t allocationAlignment = 256;
constexpr int mostAttempts = 16; ///< at places that something else has

Error invalid(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

size_t pageBytes() { return size_t(sysconf(_SC_PAGESIZE)); }

/// Bytes between an allocation and the next one, so that an address that is computed from it beyond its end
/// is not in another one; the more allocations there are, the less. The space between them is not reserved:
/// kernels access allocations alone, whatever else of this process is there.
constexpr std::pair<size_t, size_t> distances[] = {
    {256, size_t(1) << 36}, {4096, size_t(1) << 32}, {65536, size_t(1) << 20}};

/// Part of the address space where kernel and loader place nothing by themselves.
struct Region {
  uint64_t begin = 0, end = 0;
};

/// Memory at the address, if nothing else is there, or elsewhere; null: there is none.
std::byte *map(uint64_t address, size_t bytes) {
  void *begin = mmap(reinterpret_cast<void *>(address), bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return begin == MAP_FAILED ? nullptr : static_cast<std::byte *>(begin);
}

/// The allocation in what was mapped, whose owner unmaps it.
std::shared_ptr<void> mapped(std::byte *begin, size_t bytes) {
  return {begin + allocationAlignment, [begin, bytes](void *) { munmap(begin, bytes); }};
}

/// The middle of the largest usual address space that this process has: programs are loaded at two thirds of
/// it, and libraries, stacks and other memory are placed from its end downwards.
Region findRegion() {
  for (const unsigned bits : {47, 42, 39, 38}) {
    const Region region = {uint64_t(1) << (bits - 2), uint64_t(5) << (bits - 3)};
    void *end = reinterpret_cast<void *>(region.end);
    void *given = mmap(end, pageBytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (given == MAP_FAILED)
      continue;
    munmap(given, pageBytes());
    if (given == end)
      return region;
  }
  return {};
}

} // namespace

std::optional<uint64_t> EmulatedMemory::findSpace(uint64_t from, uint64_t end, uint64_t bytes,
                                                  uint64_t distance) const {
  auto next = allocations.lower_bound(from);
  if (next != allocations.begin()) // the one before may reach beyond `from`
    --next;
  for (; next != allocations.end(); ++next) {
    const auto &[begin, allocation] = *next;
    if (begin + allocation.bytes + distance <= from)
      continue;
    if (begin >= from + pageBytes() + bytes + distance)
      break;
    from = begin + allocation.bytes + distance;
  }
  from = alignTo(from, pageBytes());
  return from <= end && bytes <= end - from ? std::optional(from) : std::nullopt;
}

std::shared_ptr<void> EmulatedMemory::allocateApart(size_t bytes) {
  // Memories of one process share the region, so each looks on from where the last one found space.
  static const Region region = findRegion();
  static std::atomic<uint64_t> position = region.begin;
  const size_t used = alignTo(std::max(bytes, size_t(1)) + allocationAlignment, pageBytes());
  for (const auto &[most, distance] : distances) {
    if (allocations.size() >= most)
      continue;
    uint64_t from = position.load();
    for (int attempt = 0; attempt < mostAttempts; ++attempt) {
      std::optional<uint64_t> at = findSpace(from, region.end, used, distance);
      if (!at)
        at = findSpace(region.begin, region.end, used, distance);
      if (!at)
        break;
      // A hint: where something else is already, the kernel chooses another place.
      std::byte *begin = map(*at, used);
      if (!begin)
        break;
      from = *at + used + distance;
      if (reinterpret_cast<uint64_t>(begin) == *at) {
        position.store(from);
        return mapped(begin, used);
      }
      munmap(begin, used);
    }
  }
  std::byte *begin = map(0, used);
  return begin ? mapped(begin, used) : nullptr;
}

Result<void *> EmulatedMemory::allocate(int device, size_t bytes, RaceCheck check) {
  if (bytes > SIZE_MAX / 2)
    return invalid(fmt::format("cannot allocate {} bytes", bytes));
  const auto noMemory = [&] {
    return Error{ErrorKind::environment, fmt::format("the host has no {} bytes of memory left", bytes)};
  };
  const std::lock_guard lock(mutex);
  std::shared_ptr<void> memory = allocateApart(bytes);
  if (!memory)
    return noMemory();
  std::shared_ptr<emulator::WrittenBytes> written;
  if (check != RaceCheck::off) {
    written = emulator::WrittenBytes::create(bytes);
    if (!written)
      return noMemory();
  }
  void *address = memory.get();
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
