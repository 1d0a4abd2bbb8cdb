// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/Printable.h"

#include <fmt/format.h>

namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0b1100'0000) == 0b1000'0000; }

/// Bytes of the character of UTF-8 in front; 0 if there is none.
size_t sizeOfCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t size = first < 0x80   ? 1
                      : first < 0xc2 ? 0
                      : first < 0xe0 ? 2
                      : first < 0xf0 ? 3
                      : first < 0xf5 ? 4
                                     : 0;
  if (size > text.size())
    return 0;
  for (size_t i = 1; i < size; ++i)
    if (!continues(text[i]))
      return 0;
  return size;
}

} // namespace

std::string tlc::printable(std::string_view text, size_t most) {
  std::string result;
  std::string_view left = text;
  while (!left.empty()) {
    const size_t size = sizeOfCharacter(left);
    const auto first = static_cast<unsigned char>(left.front());
    // The controls after ASCII's are two bytes of UTF-8.
    const bool isControl = size == 0 || first < 0x20 || first == 0x7f ||
                           (first == 0xc2 && static_cast<unsigned char>(left[1]) < 0xa0);
    const size_t taken = isControl ? 1 : size;
    if (text.size() - left.size() + taken > most)
      return result + fmt::format("... ({} bytes)", text.size());
    if (first == '\n' || first == '\t')
      result += first == '\n' ? "\\n" : "\\t";
    else if (isControl)
      result += fmt::format("\\x{:02x}", first);
    else
      result += left.substr(0, taken);
    left.remove_prefix(taken);
  }
  return result;
}
