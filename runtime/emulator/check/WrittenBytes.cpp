// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bits of bytes, a word of them at a time.
#include "runtime/emulator/check/WrittenBytes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>

namespace tlc::emulator {

namespace {

constexpr uint64_t wordBits = 64;

/// The bits of [offset, end) in the word that holds `offset`.
uint64_t maskOf(uint64_t offset, uint64_t end) {
  const uint64_t first = offset % wordBits, count = std::min(end - offset, wordBits - first);
  return ~uint64_t(0) >> (wordBits - count) << first;
}

} // namespace

std::unique_ptr<WrittenBytes> WrittenBytes::create(uint64_t bytes) {
  Words words(static_cast<uint64_t *>(std::calloc(bytes / wordBits + 1, sizeof(uint64_t))));
  return words ? std::unique_ptr<WrittenBytes>(new WrittenBytes(std::move(words))) : nullptr;
}

void WrittenBytes::mark(uint64_t offset, uint64_t bytes) {
  for (uint64_t at = offset, end = offset + bytes; at < end; at = (at / wordBits + 1) * wordBits) {
    const std::atomic_ref word(words.get()[at / wordBits]);
    const uint64_t mask = maskOf(at, end);
    // Mostly written before: then the line stays with all threads that look at it.
    if ((word.load(std::memory_order_relaxed) & mask) != mask)
      word.fetch_or(mask, std::memory_order_relaxed);
  }
}

std::optional<uint64_t> WrittenBytes::firstUnwritten(uint64_t offset, uint64_t bytes) const {
  for (uint64_t at = offset, end = offset + bytes; at < end; at = (at / wordBits + 1) * wordBits) {
    const std::atomic_ref word(words.get()[at / wordBits]);
    const uint64_t missing = maskOf(at, end) & ~word.load(std::memory_order_relaxed);
    if (missing != 0)
      return at / wordBits * wordBits + uint64_t(std::countr_zero(missing));
  }
  return std::nullopt;
}

void WrittenBytes::unmark(uint64_t offset) {
  std::atomic_ref(words.get()[offset / wordBits])
      .fetch_and(~maskOf(offset, offset + 1), std::memory_order_relaxed);
}

void WrittenBytes::copy(uint64_t offset, const WrittenBytes &from, uint64_t fromOffset, uint64_t bytes) {
  mark(offset, bytes);
  for (uint64_t at = 0; at < bytes; ++at) {
    const std::optional<uint64_t> next = from.firstUnwritten(fromOffset + at, bytes - at);
    if (!next)
      return;
    at = *next - fromOffset;
    unmark(offset + at);
  }
}

} // namespace tlc::emulator
