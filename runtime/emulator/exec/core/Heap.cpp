// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/core/Heap.h"

#include "runtime/support/Math.h"

#include <cstdlib>

namespace tlc::emulator {

namespace {

constexpr uint64_t alignment = 16;

} // namespace

void Heap::Release::operator()(std::byte *pointer) const { std::free(pointer); }

Heap::Heap() : memory(static_cast<std::byte *>(std::calloc(1, bytes))) {}

uint64_t Heap::allocate(uint64_t size) {
  if (size == 0 || size > bytes || !memory)
    return 0;
  size = alignTo(size, alignment);
  const std::lock_guard lock(mutex);
  uint64_t offset = 0; // the first gap that is wide enough
  for (const auto &[next, length] : taken) {
    if (next - offset >= size)
      break;
    offset = next + length;
  }
  if (bytes - offset < size)
    return 0;
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
  return pointer == 0 || taken.erase(pointer - address()) == 1;
}

} // namespace tlc::emulator
