// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/BlockBudget.h"

#include "runtime/support/Math.h"

#include <algorithm>

using namespace tlc;

SharedBytes SharedBytes::tile(int64_t rows, int64_t rowBytes) {
  int64_t alignment = TmaFacts().sharedAlignment;
  for (int64_t span = maxSwizzleBytes; span > swizzleChunkBytes; span /= 2)
    if (isMultipleOf(rowBytes, span)) {
      alignment = span * swizzleRows;
      break;
    }
  return {rows * rowBytes, alignment};
}

BlockBudget::BlockBudget(const Target &target, int64_t residents)
    : target(target), residents(residents), limit(target.sharedBytesOfBlock(unsigned(residents))) {}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

int64_t BlockBudget::place(int64_t bytes, int64_t alignment) {
  int64_t offset = alignTo(used, alignment);
  used = offset + bytes;
  return offset;
}

int64_t BlockBudget::addBuffer(SharedBytes slot, int64_t slots) {
  return place(slots == 1 ? slot.bytes : slots * alignTo(slot.bytes, slot.alignment), slot.alignment);
}

int64_t BlockBudget::addRing(int64_t slots) { return place(2 * mbarrierBytes * slots, mbarrierBytes); }

int64_t BlockBudget::addBarrier() { return place(mbarrierBytes, mbarrierBytes); }

int64_t BlockBudget::addCancelResponse() {
  return place(cancelResponseBytes + mbarrierBytes, cancelResponseBytes);
}

void BlockBudget::reserveScratch() {
  constexpr int64_t scratchBytes = 1024;
  used += scratchBytes;
}

int64_t BlockBudget::slotBytes(std::span<const SharedBytes> buffers) {
  int64_t bytes = 2 * mbarrierBytes;
  for (const SharedBytes &buffer : buffers)
    bytes += alignTo(buffer.bytes, buffer.alignment);
  return bytes;
}

int64_t BlockBudget::slotBytes(std::initializer_list<SharedBytes> buffers) {
  return slotBytes(std::span(buffers.begin(), buffers.size()));
}

int64_t BlockBudget::slotsThatFit(int64_t slotBytes) const {
  return std::max<int64_t>(limit - alignTo(used, swizzleAlignment), 0) / slotBytes;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

int64_t BlockBudget::registersAtLaunch(int64_t warps) const {
  return target.maxRegistersForBlock(unsigned(warps * lanesPerWarp), unsigned(residents));
}

bool BlockBudget::fits(std::span<const RoleRegisters> roles) const {
  int64_t warps = 0, wanted = 0;
  for (const RoleRegisters &role : roles) {
    warps += role.warps;
    wanted += role.warps * role.registers;
  }
  return wanted <= warps * registersAtLaunch(warps);
}

std::optional<int64_t> BlockBudget::registersBeside(std::span<const RoleRegisters> set,
                                                    int64_t allWarps) const {
  const RegisterReallocationFacts &facts = target.setmaxnreg;
  int64_t warps = allWarps, registers = allWarps * registersAtLaunch(allWarps);
  for (const RoleRegisters &role : set) {
    warps -= role.warps;
    registers -= role.warps * role.registers;
  }
  if (!facts.available || warps <= 0 || registers < warps * int64_t(facts.min))
    return std::nullopt;
  return std::min(alignDown(registers / warps, facts.step), mostRoleRegisters);
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

int64_t BlockBudget::columnLimit() const {
  int64_t share = int64_t(target.tensorMemory.columns) / residents;
  return target.tensorMemory.available && share > 0 ? int64_t(1) << log2Floor(share) : 0;
}

int64_t BlockBudget::columnsReserved() const {
  return columns == 0 ? 0 : nextPowerOf2(std::max<int64_t>(columns, target.tensorMemory.minAllocation));
}

int64_t BlockBudget::addColumns(int64_t count) {
  int64_t first = columns;
  columns += count;
  return first;
}
