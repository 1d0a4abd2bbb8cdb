// SPDX-License-Identifier: Apache-2.0
#include "test/unit/device/AllocationCount.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

void *allocate(std::size_t bytes) {
  tlc::test::allocations += tlc::test::countsAllocations;
  if (void *memory = std::malloc(std::max<std::size_t>(bytes, 1)))
    return memory;
  throw std::bad_alloc();
}

} // namespace

// GCC and clang let a program replace these in any file.
void *operator new(std::size_t bytes) { return allocate(bytes); }
void *operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
