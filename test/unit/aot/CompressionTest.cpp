// SPDX-License-Identifier: Apache-2.0
/// \file
/// Blocks of LZ4: what is compressed comes back, and any bytes may be a block.
#include "runtime/aot/Compression.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>

using namespace tlc::aot;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytesOf(std::string_view text) {
  const auto *begin = reinterpret_cast<const std::byte *>(text.data());
  return {begin, begin + text.size()};
}

std::optional<Bytes> decompressed(std::span<const std::byte> block, size_t size) {
  Bytes bytes(size);
  return decompress(block, bytes) ? std::optional(bytes) : std::nullopt;
}

/// Text like PTX.
std::string instructions(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "\tadd.s32 \t%r" + std::to_string(i * 7) + ", %r" + std::to_string(i) + ", 128;\n";
  return text;
}

} // namespace

TEST_CASE("what is compressed comes back", "[aot][unit]") {
  std::mt19937 random(1);
  std::vector<Bytes> samples = {bytesOf(instructions(5000)), Bytes(100000, std::byte(3))};
  for (size_t size = 0; size < 600; size += size < 40 ? 1 : 37)
    for (const unsigned values : {1U, 2U, 256U}) {
      Bytes &bytes = samples.emplace_back(size);
      std::ranges::generate(bytes, [&] { return std::byte(random() % values); });
    }
  // A repetition that is as far back as a match reaches, and one byte further.
  for (const size_t distance : {65535, 65536}) {
    Bytes &bytes = samples.emplace_back(distance + 100);
    std::ranges::generate(bytes, [&] { return std::byte(random()); });
    std::copy_n(bytes.begin(), 50, bytes.begin() + ptrdiff_t(distance));
  }
  for (const Bytes &bytes : samples) {
    const Bytes block = compress(bytes);
    CHECK(decompressed(block, bytes.size()) == bytes);
    CHECK(decompressed(block, bytes.size() + 1) == std::nullopt);
    if (!bytes.empty())
      CHECK(decompressed(block, bytes.size() - 1) == std::nullopt);
    CHECK(bytes.size() / mostCompressed <= block.size());
    CHECK(compress(bytes) == block);
  }
}

TEST_CASE("repetitions take less", "[aot][unit]") {
  const std::string text = instructions(5000);
  CHECK(compress(bytesOf(text)).size() < text.size() / 2);
  CHECK(compress(Bytes(100000)).size() < 500);
}

TEST_CASE("a block of another writer is read", "[aot][unit]") {
  // By lz4 1.9.4 from "abcdabcdabcdabcdabcdabcd, and so on".
  const unsigned char block[] = {0x4f, 'a', 'b', 'c', 'd', 0x04, 0x00, 0x01, 0xb0, ',',
                                 ' ',  'a', 'n', 'd', ' ', 's',  'o',  ' ',  'o',  'n'};
  CHECK(decompressed(std::as_bytes(std::span(block)), 35) == bytesOf("abcdabcdabcdabcdabcdabcd, and so on"));
}

TEST_CASE("any bytes may be a block", "[aot][unit]") {
  std::mt19937 random(2);
  const Bytes block = compress(bytesOf(instructions(50)));
  const size_t size = instructions(50).size();
  for (size_t length = 0; length != block.size(); ++length)
    CHECK(decompressed(std::span(block).first(length), size) == std::nullopt);
  for (int i = 0; i < 20000; ++i) {
    Bytes changed = block;
    for (unsigned changes = 1 + random() % 4; changes != 0; --changes)
      changed[random() % changed.size()] = std::byte(random());
    static_cast<void>(decompressed(changed, size)); // the sanitizers look
  }
}
