// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages that a place gives again and again, as an unrolled loop of C++ does, stand once, with their
/// number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tlc {

/// Whether two texts differ in nothing but the numbers in them.
inline bool equalButForNumbers(std::string_view a, std::string_view b) {
  constexpr std::string_view digits = "0123456789";
  while (!a.empty() && !b.empty()) {
    size_t ofA = std::min(a.find_first_not_of(digits), a.size()),
           ofB = std::min(b.find_first_not_of(digits), b.size());
    if ((ofA == 0) != (ofB == 0))
      return false;
    if (ofA == 0 && a.front() != b.front())
      return false;
    a.remove_prefix(std::max<size_t>(ofA, 1));
    b.remove_prefix(std::max<size_t>(ofB, 1));
  }
  return a.empty() && b.empty();
}

/// Appends to messages with a `message` and a `count`, or counts one more of the first that has the same text
/// but for numbers, and the same place. Looks only at those from `first` on. The reference is to the one that
/// stands for it.
template <class Message, class SamePlace>
Message &addOrCount(std::vector<Message> &messages, Message added, SamePlace samePlace, size_t first = 0) {
  auto found = std::find_if(
      messages.begin() + static_cast<std::ptrdiff_t>(first), messages.end(),
      [&](const Message &m) { return samePlace(m, added) && equalButForNumbers(m.message, added.message); });
  if (found == messages.end())
    return messages.emplace_back(std::move(added));
  found->count += added.count;
  return *found;
}

/// " (8 times)", or nothing.
inline std::string timesText(unsigned count) {
  return count > 1 ? " (" + std::to_string(count) + " times)" : "";
}

} // namespace tlc
