// SPDX-License-Identifier: Apache-2.0
/// \file
/// The memory that device code takes with malloc. It lives as long as its
/// program, as on a GPU it outlives the launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace tlc::emulator {

class Heap {
public:
  /// As large as CUDA makes it, unless told otherwise.
  static constexpr uint64_t bytes = 8 * 1024 * 1024;
  Heap();

  uint64_t address() const { return reinterpret_cast<uint64_t>(memory.get()); }
  /// 0 when there is no room; aligned to 16 bytes.
  uint64_t allocate(uint64_t size);
  /// 0 for what is no allocation.
  uint64_t sizeOf(uint64_t pointer);
  /// False for what is no allocation.
  bool free(uint64_t pointer);

private:
  struct Release {
    void operator()(std::byte *pointer) const;
  };
  std::unique_ptr<std::byte, Release> memory;
  std::mutex mutex;
  void addGap(uint64_t offset, uint64_t size);
  void removeGap(std::map<uint64_t, uint64_t>::iterator gap);

  std::map<uint64_t, uint64_t> taken, gaps;           ///< offset to size
  std::set<std::pair<uint64_t, uint64_t>> gapsBySize; ///< size and offset
};

} // namespace tlc::emulator
