// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/core/Heap.h"

#include "runtime/support/Math.h"

#include <cstdlib>
#include <iterator>

namespace tlc::emulator {

namespace {

constexpr uint64_t alignment = 16;

} // namespace

void Heap::Release::operator()(std::byte *pointer) const { std::free(pointer); }

Heap::Heap() : memory(static_cast<std::byte *>(std::calloc(1, bytes))) { addGap(0, bytes); }

void Heap::addGap(uint64_t offset, uint64_t size) {
  gaps[offset] = size;
  gapsBySize.insert({size, offset});
}

void Heap::removeGap(std::map<uint64_t, uint64_t>::iterator gap) {
  gapsBySize.erase({gap->second, gap->first});
  gaps.erase(gap);
}

uint64_t Heap::allocate(uint64_t size) {
  if (size == 0 || size > bytes || !memory)
    return 0;
  size = alignTo(size, alignment);
  const std::lock_guard lock(mutex);
  const auto found = gapsBySize.lower_bound({size, 0});
  if (found == gapsBySize.end())
    return 0;
  const auto [width, offset] = *found;
  removeGap(gaps.find(offset));
  if (width > size)
    addGap(offset + size, width - size);
  taken[offset] = size;
  return address() + offset;
}

uint64_t Heap::sizeOf(uint64_t pointer) {
  const std::lock_guard lock(mutex);
  const auto found = taken.find(pointer - address());
  return found == taken.end() ? 0 : found->second;
}

bool Heap::free(uint64_t pointer) {
  const std::lock_guard lock(mutex);
  if (pointer == 0)
    return true;
  const auto found = taken.find(pointer - address());
  if (found == taken.end())
    return false;
  uint64_t offset = found->first, size = found->second;
  taken.erase(found);
  auto after = gaps.lower_bound(offset);
  if (after != gaps.begin())
    if (const auto before = std::prev(after); before->first + before->second == offset) {
      offset = before->first, size += before->second;
      removeGap(before);
    }
  if (after != gaps.end() && after->first == offset + size) {
    size += after->second;
    removeGap(after);
  }
  addGap(offset, size);
  return true;
}

} // namespace tlc::emulator
