// SPDX-License-Identifier: Apache-2.0
/// \file
/// Results kept in memory by key. A miss computes; concurrent misses of one
/// key compute once and all get the same object. Failures are not kept.
#pragma once

#include "runtime/cache/Key.h"
#include "runtime/support/Result.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace tlc {

template <class Value> class MemoryCache {
public:
  using Pointer = std::shared_ptr<const Value>;

  /// The value of `key`, computed by `compute() -> Result<Pointer>` if this is
  /// the first call for it. `compute` runs without the cache's lock, so other
  /// keys proceed; it must not ask for its own key.
  template <class Compute> Result<Pointer> getOrCompute(const Key &key, Compute &&compute) {
    std::unique_lock lock(mutex);
    if (auto found = entries.find(key); found != entries.end()) {
      std::shared_ptr<Entry> entry = found->second;
      entry->done.wait(lock, [&] { return entry->result.has_value(); });
      return *entry->result;
    }
    auto entry = std::make_shared<Entry>();
    entries.emplace(key, entry);
    lock.unlock();
    Result<Pointer> result = compute();
    lock.lock();
    entry->result = result;
    if (!result)
      entries.erase(key);
    entry->done.notify_all();
    return result;
  }

  /// The value of `key` if it is there already.
  Pointer find(const Key &key) const {
    std::lock_guard lock(mutex);
    auto found = entries.find(key);
    if (found == entries.end() || !found->second->result)
      return nullptr;
    return **found->second->result;
  }

  void clear() {
    std::lock_guard lock(mutex);
    std::erase_if(entries, [](const auto &item) { return item.second->result.has_value(); });
  }

private:
  struct Entry {
    std::condition_variable done;
    std::optional<Result<Pointer>> result;
  };
  mutable std::mutex mutex;
  std::unordered_map<Key, std::shared_ptr<Entry>, KeyHash> entries;
};

} // namespace tlc
