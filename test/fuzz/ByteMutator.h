// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random changes of bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>

namespace tlc::fuzz {

/// What is at the edge of something.
inline constexpr uint64_t oddNumbers[] = {0,
                                          1,
                                          2,
                                          3,
                                          7,
                                          8,
                                          31,
                                          32,
                                          63,
                                          64,
                                          127,
                                          128,
                                          255,
                                          256,
                                          65535,
                                          65536,
                                          INT32_MAX,
                                          uint64_t(INT32_MAX) + 1,
                                          UINT32_MAX,
                                          uint64_t(1) << 32,
                                          uint64_t(1) << 40,
                                          INT64_MAX,
                                          uint64_t(1) << 63,
                                          UINT64_MAX - 7,
                                          UINT64_MAX};

class ByteMutator {
public:
  ByteMutator(unsigned seed, std::span<const std::string> seeds) : random(seed), seeds(seeds) {}

  /// A seed with one to three changes.
  std::string next() {
    std::string bytes = seeds[random() % seeds.size()];
    for (unsigned changes = 1 + random() % 3; changes != 0 && !bytes.empty(); --changes)
      change(bytes);
    return bytes;
  }
  uint64_t number() { return oddNumbers[random() % std::size(oddNumbers)]; }
  std::mt19937_64 random;

private:
  void change(std::string &bytes) {
    const size_t at = random() % bytes.size();
    const size_t length = std::min<size_t>(1 + random() % 16, bytes.size() - at);
    const std::string &other = seeds[random() % seeds.size()];
    switch (random() % 8) {
    case 0:
      bytes[at] = char(random());
      break;
    case 1:
      bytes[at] = char(bytes[at] ^ (1 << (random() % 8)));
      break;
    case 2:
      bytes.erase(at, length);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, length));
      break;
    case 4:
      bytes.insert(at, other.substr(random() % (other.size() + 1), length));
      break;
    case 5:
      bytes.resize(at);
      break;
    case 6: {
      std::string text = std::to_string(number());
      bytes.replace(at, std::min(length, text.size()), text);
      break;
    }
    default: {
      const uint64_t value = number();
      const size_t width = std::min<size_t>(size_t(1) << (random() % 4), bytes.size() - at);
      std::memcpy(bytes.data() + at, &value, width);
    }
    }
  }

  std::span<const std::string> seeds;
};

} // namespace tlc::fuzz
