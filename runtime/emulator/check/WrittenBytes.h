// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which bytes of a piece of memory something has written: one bit each. Several
/// host threads may mark and look at the same time.
#pragma once

#include "runtime/support/FreeDeleter.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace tlc::emulator {

class WrittenBytes {
public:
  /// None is written. Null when the host has no memory for it.
  static std::unique_ptr<WrittenBytes> create(uint64_t bytes);

  void mark(uint64_t offset, uint64_t bytes);
  /// The first of these bytes that nothing has written.
  std::optional<uint64_t> firstUnwritten(uint64_t offset, uint64_t bytes) const;
  /// The bytes are a copy of those of `from`, written where they are.
  void copy(uint64_t offset, const WrittenBytes &from, uint64_t fromOffset, uint64_t bytes);

private:
  using Words = std::unique_ptr<uint64_t, FreeDeleter>;
  explicit WrittenBytes(Words words) : words(std::move(words)) {}
  void unmark(uint64_t offset);

  Words words; ///< zero pages of the host until something is marked
};

} // namespace tlc::emulator
