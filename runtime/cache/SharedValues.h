// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values by key, kept alive by their users only. Concurrent calls for one key make one value.
#pragma once

#include "runtime/cache/Key.h"
#include "runtime/support/Result.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace tlc {

/// Safe to use from several threads.
template <class Value> class SharedValues {
public:
  using Pointer = std::shared_ptr<Value>;

  /// The live value of `key`, else the result of `make() -> Result<Pointer>`. Calls for other keys do not
  /// wait for it. Failures are not kept.
  template <class Make> Result<Pointer> getOrMake(const Key &key, Make &&make) {
    const std::shared_ptr<Entry> entry = entryOf(key);
    std::lock_guard lock(entry->mutex);
    if (Pointer value = entry->value.lock())
      return value;
    Result<Pointer> made = make();
    if (made)
      entry->value = *made;
    return made;
  }

  /// Number of live values and of those being made.
  size_t size() {
    std::lock_guard lock(mutex);
    forgetUnused();
    return entries.size();
  }

private:
  struct Entry {
    std::mutex mutex;
    std::weak_ptr<Value> value;
  };

  std::shared_ptr<Entry> entryOf(const Key &key) {
    std::lock_guard lock(mutex);
    auto found = entries.find(key);
    if (found == entries.end()) {
      forgetUnused();
      found = entries.emplace(key, std::make_shared<Entry>()).first;
    }
    return found->second;
  }

  /// Called under `mutex`, under which alone callers get an entry: one with a single owner has no caller.
  /// What its last caller wrote is seen under the entry's own mutex only.
  void forgetUnused() {
    std::erase_if(entries, [](const auto &item) {
      if (item.second.use_count() != 1)
        return false;
      std::lock_guard lock(item.second->mutex);
      return item.second->value.expired();
    });
  }

  std::mutex mutex;
  std::unordered_map<Key, std::shared_ptr<Entry>, KeyHash> entries;
};

} // namespace tlc
