// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/Excerpt.h"

std::string tlc::excerpt(std::string_view text) {
  if (text.size() <= mostQuoted)
    return std::string(text);
  constexpr unsigned char continues = 0b1000'0000, kind = 0b1100'0000;
  constexpr size_t longestCharacter = 4;
  size_t end = mostQuoted;
  while (end > mostQuoted - longestCharacter && (static_cast<unsigned char>(text[end]) & kind) == continues)
    --end;
  return fmt::format("{}... ({} bytes)", text.substr(0, end), text.size());
}
