// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/core/Async.h"

#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/core/State.h"

#include <algorithm>

namespace tlc::emulator {

size_t AsyncQueue::oldestReady() const {
  size_t i = 0;
  while (i < operations.size() && !isReady(i))
    ++i;
  return i;
}

bool AsyncQueue::complete(size_t i) {
  // Completing may push further operations, so take it out first.
  const std::shared_ptr<AsyncOperation> operation = operations[i];
  operations.erase(operations.begin() + ptrdiff_t(i));
  Observer *observer = clusterOf(*operation->warp).observer.get();
  if (observer)
    observer->run(operation->note.get());
  const bool completed = operation->run();
  if (observer)
    observer->run(nullptr);
  operation->done = completed;
  return completed;
}

void AsyncGroups::add(std::shared_ptr<AsyncOperation> operation, uint32_t lanes) {
  std::erase_if(members, [](const Member &member) { return member.operation->done; });
  members.push_back({std::move(operation), lanes, committed});
}

void AsyncGroups::commit(uint32_t lanes) {
  for (unsigned l = 0; l < 32; ++l)
    committed[l] += lanes >> l & 1;
}

bool AsyncGroups::atMost(uint32_t lanes, uint64_t pending) {
  for (const Member &member : members) {
    if (member.operation->done)
      continue;
    for (unsigned l = 0; l < 32; ++l)
      if ((member.lanes & lanes) >> l & 1 && member.group[l] < committed[l] &&
          committed[l] - member.group[l] > pending)
        return false;
  }
  return true;
}

bool AsyncGroups::idle(uint32_t lanes) {
  return std::none_of(members.begin(), members.end(), [&](const Member &member) {
    return (member.lanes & lanes) != 0 && !member.operation->done;
  });
}

} // namespace tlc::emulator
