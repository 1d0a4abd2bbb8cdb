// SPDX-License-Identifier: Apache-2.0
/// \file
/// Results kept in memory by key. A miss computes; concurrent misses of one
/// key compute once and all get the same object. Failures are not kept. The
/// least recently used are forgotten first; whoever has one keeps it.
#pragma once

#include "runtime/cache/Key.h"
#include "runtime/support/Result.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tlc {

template <class Value> class MemoryCache {
public:
  using Pointer = std::shared_ptr<const Value>;

  /// Keeps `capacity` values at most.
  explicit MemoryCache(size_t capacity = std::numeric_limits<size_t>::max()) : capacity(capacity) {}

  /// The value of `key`, computed by `compute() -> Result<Pointer>` if this is
  /// the first call for it. `compute` runs without the cache's lock, so other
  /// keys proceed; it must not ask for its own key.
  template <class Compute> Result<Pointer> getOrCompute(const Key &key, Compute &&compute) {
    std::unique_lock lock(mutex);
    if (auto found = entries.find(key); found != entries.end()) {
      std::shared_ptr<Entry> entry = found->second;
      entry->done.wait(lock, [&] { return entry->result.has_value(); });
      entry->lastUse = ++uses;
      return *entry->result;
    }
    auto entry = std::make_shared<Entry>();
    entries.emplace(key, entry);
    lock.unlock();
    Result<Pointer> result = compute();
    lock.lock();
    entry->result = result;
    entry->lastUse = ++uses;
    if (!result)
      entries.erase(key);
    else if (entries.size() > capacity)
      forgetOne();
    entry->done.notify_all();
    return result;
  }

  /// The value of `key` if it is there already.
  Pointer find(const Key &key) {
    std::lock_guard lock(mutex);
    auto found = entries.find(key);
    if (found == entries.end() || !found->second->result)
      return nullptr;
    found->second->lastUse = ++uses;
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
    uint64_t lastUse = 0;
  };

  /// Of those that are computed: others are in use. There is one.
  void forgetOne() {
    entries.erase(std::min_element(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
      return std::pair(!a.second->result, a.second->lastUse) <
             std::pair(!b.second->result, b.second->lastUse);
    }));
  }

  const size_t capacity;
  uint64_t uses = 0;
  std::mutex mutex;
  std::unordered_map<Key, std::shared_ptr<Entry>, KeyHash> entries;
};

} // namespace tlc
