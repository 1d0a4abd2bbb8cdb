// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatorStreams.h"

#include "runtime/device/StreamChecks.h"

#include <fmt/format.h>

using namespace tlc;

Result<double> EmulatorEvent::elapsed(const Event &from, const Event &to, const void *self,
                                      std::string_view name) {
  auto *begin = dynamic_cast<const EmulatorEvent *>(&from), *end = dynamic_cast<const EmulatorEvent *>(&to);
  const bool areOwn = begin && end && begin->device == self && end->device == self;
  if (Result<void> valid = checkTimed(from, to, areOwn, name); !valid)
    return valid.error();
  if (begin->capture || end->capture)
    return Error{.message = "expected two events with times, but one was recorded in a capture"};
  return std::chrono::duration<double, std::milli>(end->at - begin->at).count();
}

void *HostMemory::allocate(size_t bytes) {
  if (bytes == 0)
    return nullptr;
  auto block = std::make_unique<std::byte[]>(bytes);
  void *const address = block.get();
  const std::lock_guard lock(mutex);
  blocks.emplace(address, std::move(block));
  return address;
}

Result<void> HostMemory::free(void *address) {
  if (!address)
    return {};
  const std::lock_guard lock(mutex);
  if (blocks.erase(address) == 0)
    return Error{.message =
                     fmt::format("cannot free pinned memory at {}, where none begins", fmt::ptr(address))};
  return {};
}
