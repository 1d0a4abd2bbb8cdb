// SPDX-License-Identifier: Apache-2.0
#include "runtime/aot/Compression.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

using namespace tlc;
using namespace tlc::aot;

namespace {

// Of the format.
constexpr size_t leastMatch = 4;
constexpr size_t lastLiterals = 5;       ///< bytes at the end that no match has
constexpr size_t lastMatchDistance = 12; ///< from the begin of the last match to the end, at least
constexpr size_t window = 65535;         ///< how far back a match is
constexpr size_t nibble = 15;

constexpr unsigned hashBits = 16;
constexpr int mostCandidates = 64; ///< that are compared for the longest match

class Compressor {
public:
  explicit Compressor(std::span<const std::byte> bytes)
      : bytes(bytes), newest(size_t(1) << hashBits, -1), older(bytes.size(), -1) {}

  std::vector<std::byte> run() {
    size_t at = 0;
    while (at + lastMatchDistance <= bytes.size()) {
      const Match match = longestAt(at);
      const size_t end = at + std::max(match.length, size_t(1));
      for (size_t i = at; i != end; ++i)
        insert(i);
      if (match.length != 0) {
        write(at, match);
        written = end;
      }
      at = end;
    }
    write(bytes.size(), {});
    return std::move(block);
  }

private:
  struct Match {
    size_t length = 0, distance = 0;
  };

  uint32_t wordAt(size_t at) const {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    return word;
  }
  int64_t &newestLike(size_t at) { return newest[(wordAt(at) * 2654435761U) >> (32 - hashBits)]; }

  void insert(size_t at) {
    if (at + leastMatch > bytes.size())
      return;
    older[at] = std::exchange(newestLike(at), int64_t(at));
  }

  Match longestAt(size_t at) {
    Match best;
    const size_t most = bytes.size() - lastLiterals - at;
    int64_t candidate = newestLike(at);
    for (int i = 0; i < mostCandidates && candidate >= 0 && at - size_t(candidate) <= window; ++i) {
      const auto from = bytes.begin() + candidate;
      const size_t length =
          size_t(std::mismatch(from, from + ptrdiff_t(most), bytes.begin() + ptrdiff_t(at)).first - from);
      if (length >= leastMatch && length > best.length)
        best = {length, at - size_t(candidate)};
      candidate = older[size_t(candidate)];
    }
    return best;
  }

  void writeByte(size_t value) { block.push_back(std::byte(value)); }
  /// What does not fit into four bits.
  void writeRest(size_t length) {
    if (length < nibble)
      return;
    for (length -= nibble; length >= 255; length -= 255)
      writeByte(255);
    writeByte(length);
  }
  /// The bytes up to `end` that no match has, and the match that follows, if there is one.
  void write(size_t end, const Match &match) {
    const size_t literals = end - written;
    const size_t length = match.length == 0 ? 0 : match.length - leastMatch;
    writeByte(std::min(literals, nibble) << 4 | std::min(length, nibble));
    writeRest(literals);
    block.insert(block.end(), bytes.begin() + ptrdiff_t(written), bytes.begin() + ptrdiff_t(end));
    if (match.length == 0)
      return;
    writeByte(match.distance & 255);
    writeByte(match.distance >> 8);
    writeRest(length);
  }

  const std::span<const std::byte> bytes;
  std::vector<std::byte> block;
  size_t written = 0; ///< bytes that the block has
  /// Positions: the last one of each hash, and the one before each position that had the same.
  std::vector<int64_t> newest, older;
};

class Decompressor {
public:
  Decompressor(std::span<const std::byte> block, std::span<std::byte> bytes) : block(block), bytes(bytes) {}

  bool run() {
    while (!block.empty()) {
      const size_t token = take();
      const size_t literals = lengthOf(token >> 4);
      if (literals > block.size() || literals > bytes.size() - written)
        return false;
      if (literals != 0)
        std::memcpy(bytes.data() + written, block.data(), literals);
      block = block.subspan(literals);
      written += literals;
      if (block.empty()) // the last sequence has no match
        return written == bytes.size();
      if (block.size() < 2)
        return false;
      const size_t low = take();
      const size_t distance = low | take() << 8;
      const size_t length = lengthOf(token & nibble) + leastMatch;
      if (distance == 0 || distance > written || length > bytes.size() - written)
        return false;
      copy(distance, length);
    }
    return false;
  }

private:
  size_t take() {
    const auto byte = size_t(block.front());
    block = block.subspan(1);
    return byte;
  }
  size_t lengthOf(size_t length) {
    for (size_t more = 255; length >= nibble && more == 255 && !block.empty();) {
      more = take();
      length += more;
    }
    return length;
  }
  /// The bytes may overlap: then they repeat.
  void copy(size_t distance, size_t length) {
    std::byte *to = bytes.data() + written;
    written += length;
    if (distance >= length) {
      std::memcpy(to, to - distance, length);
      return;
    }
    for (size_t i = 0; i != length; ++i)
      to[i] = *(to + i - distance);
  }

  std::span<const std::byte> block;
  const std::span<std::byte> bytes;
  size_t written = 0;
};

} // namespace

std::vector<std::byte> aot::compress(std::span<const std::byte> bytes) { return Compressor(bytes).run(); }

bool aot::decompress(std::span<const std::byte> block, std::span<std::byte> bytes) {
  return Decompressor(block, bytes).run();
}
