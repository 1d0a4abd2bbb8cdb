// SPDX-License-Identifier: Apache-2.0
/// \file
/// PTX text to tokens. Comments and white space are gone afterwards.
#pragma once

#include "runtime/support/Result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tlc::emulator {

struct Token {
  enum class Kind : uint8_t {
    word,      ///< identifier, directive or instruction word: `add`, `%r1`, `.reg`, `$L1`, `add.rn.f32`
    integer,   ///< `bits`
    real,      ///< `value`
    floatBits, ///< 0f: 32 bits, 0d: 64 bits in `bits`; `value`
    string,    ///< `text` without the quotes
    symbol,    ///< one character, or an operator of two
    end,
  };
  Kind kind = Kind::end;
  std::string_view text;
  unsigned line = 0;
  uint64_t bits = 0;
  double value = 0;
  bool isUnsigned = false; ///< an integer with U
  bool isSingle = false;   ///< 0f

  bool is(std::string_view expected) const {
    return (kind == Kind::word || kind == Kind::symbol) && text == expected;
  }
};

/// All tokens, ending with one of kind `end`; they point into `text`.
Result<std::vector<Token>> tokenize(std::string_view text);

} // namespace tlc::emulator
