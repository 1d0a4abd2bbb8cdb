// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/decode/ConstantPool.h"

#include <algorithm>
#include <cstring>

namespace tlc::emulator {

Slot ConstantPool::value(uint64_t bits, unsigned bytes) {
  const auto [found, isNew] = values.try_emplace({bits, bytes});
  if (isNew)
    found->second = append(bits, bytes);
  return found->second;
}

Slot ConstantPool::sharedAddress(uint64_t address, unsigned bytes) {
  const auto [found, isNew] = sharedAddresses.try_emplace({address, bytes});
  if (isNew) {
    found->second = append(address, bytes);
    kernel.sharedAddresses.push_back(found->second);
  }
  return found->second;
}

Slot ConstantPool::append(uint64_t bits, unsigned bytes) {
  // As in the register file: one word for a predicate, else 32 lanes.
  const size_t lane = bytes == 0 ? 4 : std::min(bytes, 8u), lanes = bytes == 0 ? 1 : 32;
  const Slot slot{uint32_t(kernel.constants.size()), uint8_t(bytes), true};
  kernel.constants.resize(slot.offset + std::max<size_t>(64, lanes * lane * (bytes == 16 ? 2 : 1)));
  const uint64_t stored = bytes == 0 && bits != 0 ? ~uint64_t(0) : bits;
  for (size_t l = 0; l < lanes; ++l)
    std::memcpy(kernel.constants.data() + slot.offset + l * lane, &stored, lane);
  return slot;
}

} // namespace tlc::emulator
