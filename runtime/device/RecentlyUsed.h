// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program keeps of its last launches, for further ones of the same shapes.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>

namespace tlc {

/// The most recently used objects. One is taken out while a thread uses it, so that no two threads have the
/// same one. Safe to use from several threads.
template <class T> class RecentlyUsed {
public:
  static constexpr size_t capacity = 16;

  /// The most recent one that `matches`, or null.
  template <class Matches> std::unique_ptr<T> take(const Matches &matches) {
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find_if(
        objects, [&](const std::unique_ptr<T> &object) { return object && matches(*object); });
    if (found == objects.end())
      return nullptr;
    std::unique_ptr<T> taken = std::move(*found);
    std::move(found + 1, objects.end(), found);
    return taken;
  }

  /// Replaces the least recently used one where no room is left.
  void keep(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex);
    std::swap(object, objects.back()); // the replaced one ends after the lock does
    std::ranges::rotate(objects, objects.end() - 1);
  }

private:
  std::mutex mutex;
  std::array<std::unique_ptr<T>, capacity> objects; ///< the last used first, null ones last
};

} // namespace tlc
