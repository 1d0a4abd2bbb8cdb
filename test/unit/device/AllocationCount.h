// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts allocations in a program that AllocationCount.cpp is part of.
#pragma once

#include <cstddef>

namespace tlc::test {

inline thread_local bool countsAllocations = false;
inline thread_local size_t allocations = 0;

/// Counts what this thread's code allocates while it exists.
class AllocationCount {
public:
  AllocationCount() { allocations = 0, countsAllocations = true; }
  AllocationCount(const AllocationCount &) = delete;
  ~AllocationCount() { countsAllocations = false; }
};

} // namespace tlc::test
