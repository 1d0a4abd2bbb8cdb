// SPDX-License-Identifier: Apache-2.0
/// \file
/// The name of a cache entry: a hash of everything that determines the result
/// (program text or specification, target, options, compiler build).
#pragma once

#include "runtime/support/Hash.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tlc {

struct Key {
  Hash128 hash;

  bool operator==(const Key &) const = default;
  /// 32 lower-case hexadecimal digits.
  std::string toHex() const;
  /// What `toHex` gave; nothing for another text.
  static std::optional<Key> parse(std::string_view hex);
};

struct KeyHash {
  size_t operator()(const Key &key) const { return key.hash.low ^ key.hash.high; }
};

/// Collects the parts of a key. Each part carries its length, so that
/// ("ab", "c") and ("a", "bc") differ.
class KeyBuilder {
public:
  KeyBuilder &add(std::string_view part);
  KeyBuilder &add(int64_t part);
  Key finish() const { return {hash}; }

private:
  Hash128 hash;
};

} // namespace tlc
