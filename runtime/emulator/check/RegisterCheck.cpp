// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/RegisterCheck.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

constexpr uint32_t fragmentShape = 1;

std::span<const Slot> slotsOf(const Instruction &instruction) {
  return {instruction.slots, instruction.slotCount};
}

/// All bits of a register; 1: of a predicate. Of more than 64 there is no account bit by bit.
uint64_t allBits(const Slot &slot) {
  return slot.bytes == 0 ? 1 : slot.bytes >= 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * slot.bytes) - 1;
}

uint64_t bitsIn(const Warp &warp, const Slot &slot, unsigned lane) {
  uint64_t bits = 0;
  if (slot.bytes == 0)
    bits = warp.predicate(slot) >> lane & 1;
  else
    std::memcpy(&bits, warp.read(slot) + size_t(lane) * slot.bytes,
                std::min<size_t>(slot.bytes, sizeof(bits)));
  return bits;
}

void setBitsIn(Warp &warp, const Slot &slot, unsigned lane, uint64_t bits) {
  if (slot.bytes == 0)
    warp.setPredicate(slot, 1u << lane, uint32_t(bits & 1) << lane);
  else
    std::memcpy(warp.at(slot) + size_t(lane) * slot.bytes, &bits, std::min<size_t>(slot.bytes, sizeof(bits)));
}

} // namespace

RegisterCheck::RegisterCheck(Cluster &cluster)
    : cluster(cluster), warpsOfBlock(cluster.blocks[0].warps.size()) {
  const Kernel &kernel = *cluster.grid->kernel;
  std::vector<uint32_t> written(kernel.registerBytes / registerGranule + 1, ~0u);
  for (const RegisterName &reg : kernel.registerNames)
    written[reg.offset / registerGranule] = 0;
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps) {
      WarpRegisters &registers = warps.emplace_back();
      registers.written = written;
      registers.writtenLocal.resize(warp.local.size());
      if (kernel.sharesRegisters)
        registers.uses.resize(written.size());
    }
}

void RegisterCheck::setWritten(WarpRegisters &registers, const Slot &slot, uint32_t lanes, uint32_t written) {
  uint32_t &mask = registers.written[indexOf(slot)];
  mask = (mask & ~lanes) | (written & lanes);
  if ((lanes & ~written) == 0 || registers.writtenBits.empty())
    return;
  if (const auto found = registers.writtenBits.find(indexOf(slot)); found != registers.writtenBits.end())
    for (uint32_t left = lanes & ~written; left != 0; left &= left - 1)
      found->second[size_t(std::countr_zero(left))] = 0;
}

uint64_t RegisterCheck::writtenBits(const WarpRegisters &registers, const Slot &slot, unsigned lane) {
  if (slot.constant || (registers.written[indexOf(slot)] >> lane & 1) != 0)
    return allBits(slot);
  const auto found = registers.writtenBits.find(indexOf(slot));
  return found == registers.writtenBits.end() ? 0 : found->second[lane];
}

void RegisterCheck::setWrittenBits(WarpRegisters &registers, const Slot &slot, unsigned lane, uint64_t bits) {
  bits &= allBits(slot);
  const bool isWhole = bits == allBits(slot);
  setWritten(registers, slot, 1u << lane, isWhole ? ~0u : 0);
  if (!isWhole && bits != 0 && slot.bytes <= 8)
    registers.writtenBits[indexOf(slot)][lane] = bits;
}

RegisterCheck::ResultBits RegisterCheck::independentBits(Warp &warp, const Instruction &instruction,
                                                         const WarpRegisters &registers, uint32_t lanes) {
  // It is run, as it has no effect but its results, with these bits clear and set.
  const auto bytesOf = [&](const Slot &slot) {
    return slot.bytes == 0 ? sizeof(uint32_t) : size_t(slot.bytes) * warpSize;
  };
  std::vector<std::vector<std::byte>> before;
  for (const Slot &slot : slotsOf(instruction))
    before.emplace_back(warp.read(slot), warp.read(slot) + bytesOf(slot));
  ResultBits results[2];
  for (const bool set : {false, true}) {
    for (const Slot &slot : slotsOf(instruction)) {
      if (slot.written || slot.constant)
        continue;
      for (uint32_t left = lanes & ~writtenIn(registers, slot); left != 0; left &= left - 1) {
        const unsigned lane = unsigned(std::countr_zero(left));
        const uint64_t written = writtenBits(registers, slot, lane);
        setBitsIn(warp, slot, lane, (bitsIn(warp, slot, lane) & written) | (set ? ~written : 0));
      }
    }
    instruction.eval(warp, lanes, instruction);
    for (const Slot &slot : slotsOf(instruction)) {
      if (!slot.written)
        continue;
      std::array<uint64_t, warpSize> &bits = results[set].emplace_back();
      for (unsigned lane = 0; lane < warpSize; ++lane)
        bits[lane] = bitsIn(warp, slot, lane);
    }
    for (size_t i = 0; i < before.size(); ++i)
      if (!instruction.slots[i].constant)
        std::ranges::copy(before[i], warp.at(instruction.slots[i]));
  }
  for (size_t i = 0; i < results[0].size(); ++i)
    for (unsigned lane = 0; lane < warpSize; ++lane)
      results[0][i][lane] = ~(results[0][i][lane] ^ results[1][i][lane]);
  return std::move(results[0]);
}

void RegisterCheck::follow(Warp &warp, const Instruction &instruction, WarpRegisters &registers,
                           uint32_t lanes) {
  uint32_t *const written = registers.written.data();
  uint32_t every = ~0u, some = 0;
  bool constants = false;
  for (const Slot &slot : slotsOf(instruction)) {
    if (slot.written)
      continue;
    if (slot.constant) {
      constants = true;
      continue;
    }
    every &= written[indexOf(slot)];
    some |= written[indexOf(slot)];
  }
  uint32_t result = ~0u;
  switch (instruction.flow) {
  case Flow::use:
    for (const Slot &slot : slotsOf(instruction))
      if (!slot.written && !slot.constant && (lanes & ~written[indexOf(slot)]) != 0)
        reportUnwritten(warp, instruction, slot.offset, lanes & ~written[indexOf(slot)]);
    break;
  case Flow::address:
    if (const Slot &address = instruction.slots[0];
        !address.constant && (lanes & ~written[indexOf(address)]) != 0)
      reportUnwritten(warp, instruction, address.offset, lanes & ~written[indexOf(address)]);
    break;
  case Flow::any:
    result = every;
    break;
  case Flow::bits:
  case Flow::places: {
    // Where others give some of a result's bits, all of it counts as written; constants only give theirs.
    ResultBits bits = independentBits(warp, instruction, registers, lanes);
    uint32_t others = instruction.flow == Flow::bits ? some : 0, sure = ~0u;
    if (instruction.flow == Flow::places)
      for (const Slot &slot : slotsOf(instruction).subspan(2))
        sure &= writtenIn(registers, slot);
    size_t index = 0;
    for (const Slot &slot : slotsOf(instruction)) {
      if (!slot.written)
        continue;
      for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const unsigned lane = unsigned(std::countr_zero(left));
        const uint64_t independent = bits[index][lane] & allBits(slot);
        const bool isWhole = (every >> lane & 1) != 0 || ((others >> lane & 1) != 0 && independent != 0);
        setWrittenBits(registers, slot, lane,
                       (sure >> lane & 1) == 0 ? 0
                       : isWhole               ? ~uint64_t(0)
                                               : independent);
      }
      ++index;
    }
    return;
  }
  case Flow::parts:
    if (instruction.slotCount == 2 && !constants) {
      const Slot &to = instruction.slots[0], &from = instruction.slots[1];
      for (uint32_t left = lanes; left != 0; left &= left - 1)
        setWrittenBits(registers, to, unsigned(std::countr_zero(left)),
                       writtenBits(registers, from, unsigned(std::countr_zero(left))));
      return;
    }
    result = constants ? ~0u : some;
    break;
  case Flow::select: {
    const auto of = [&](size_t i) { return writtenIn(registers, instruction.slots[i]); };
    const uint32_t choice = warp.predicate(instruction.slots[3]);
    result = of(3) & ((choice & of(1)) | (~choice & of(2)));
    break;
  }
  case Flow::lanes:
  case Flow::ends:
    break;
  }
  for (const Slot &slot : slotsOf(instruction))
    if (slot.written)
      setWritten(registers, slot, lanes, result);
}

void RegisterCheck::combineLanes(const Warp &warp, const Members &members) {
  WarpRegisters &registers = registersOf(warp);
  uint32_t every = ~0u;
  for (const Members::Part &part : members.parts())
    for (const Slot &slot : slotsOf(*part.instruction))
      if (!slot.written)
        every &= writtenIn(registers, slot) | ~part.lanes;
  for (const Members::Part &part : members.parts())
    for (const Slot &slot : slotsOf(*part.instruction))
      if (slot.written)
        setWritten(registers, slot, part.lanes, (members.lanes() & ~every) == 0 ? ~0u : 0);
}

void RegisterCheck::shuffleLanes(const Warp &warp, const Members &members,
                                 std::span<const uint32_t> sources) {
  // slots: value, predicate, from what, which lane, clamp, mask
  WarpRegisters &registers = registersOf(warp);
  uint32_t of = writtenIn(registers, members.parts().front().instruction->slots[2]);
  for (const Members::Part &part : members.parts().subspan(1))
    of = (of & ~part.lanes) | (writtenIn(registers, part.instruction->slots[2]) & part.lanes);
  uint32_t value = 0;
  for (size_t lane = 0; lane < sources.size(); ++lane)
    value |= (of >> sources[lane] & 1) << lane;
  for (const Members::Part &part : members.parts()) {
    const Slot *const slots = part.instruction->slots;
    const uint32_t which = writtenIn(registers, slots[3]) & writtenIn(registers, slots[4]);
    setWritten(registers, slots[0], part.lanes, value & which);
    setWritten(registers, slots[1], part.lanes, which);
  }
}

void RegisterCheck::accessLocal(const Warp &warp, const Instruction &instruction, const Touch &access) {
  WarpRegisters &registers = registersOf(warp);
  const uint64_t base = access.lane * uint64_t(cluster.grid->kernel->localBytes) + access.address;
  uint8_t *const bytes = registers.writtenLocal.data() + base;
  if (access.kind != AccessKind::read) {
    // slots: address, values
    const size_t values = instruction.slotCount > 1 ? instruction.slotCount - 1u : 1;
    const uint64_t each = std::max<uint64_t>(1, access.bytes / values);
    for (uint64_t i = 0; i < access.bytes; ++i) {
      const Slot &slot = instruction.slots[instruction.slotCount > 1 ? 1 + i * values / access.bytes : 0];
      const bool isWhole = (writtenIn(registers, slot) >> access.lane & 1) != 0;
      bytes[i] =
          isWhole ? 0xFF
                  : uint8_t(i % each < 8 ? writtenBits(registers, slot, access.lane) >> 8 * (i % each) : 0);
    }
    return;
  }
  const size_t results =
      size_t(std::ranges::count_if(slotsOf(instruction), [](const Slot &slot) { return slot.written; }));
  if (results == 0)
    return;
  const uint8_t *element = bytes;
  const uint64_t each = access.bytes / results;
  for (const Slot &slot : slotsOf(instruction)) {
    if (!slot.written)
      continue;
    if (std::any_of(element, element + each, [](uint8_t written) { return written != 0xFF; })) {
      uint64_t written = 0;
      if (each <= 8)
        std::memcpy(&written, element, each);
      // What extends the value is of its highest bit.
      if (each < 8 && (element[each - 1] & 0x80) != 0)
        written |= ~uint64_t(0) << 8 * each;
      setWrittenBits(registers, slot, access.lane, written);
    }
    element += each;
  }
}

void RegisterCheck::copyLocal(const Warp &warp, unsigned lane, uint64_t to, uint64_t from, uint64_t bytes) {
  const auto all =
      registersOf(warp).writtenLocal.begin() + ptrdiff_t(lane) * cluster.grid->kernel->localBytes;
  std::copy_n(all + ptrdiff_t(from), bytes, all + ptrdiff_t(to));
}

void RegisterCheck::fillLocal(const Warp &warp, unsigned lane, uint64_t at, uint64_t bytes) {
  const auto all =
      registersOf(warp).writtenLocal.begin() + ptrdiff_t(lane) * cluster.grid->kernel->localBytes;
  std::fill_n(all + ptrdiff_t(at), bytes, uint8_t(0xFF));
}

void RegisterCheck::reportUnwritten(Warp &warp, const Instruction &instruction, uint32_t offset,
                                    uint32_t lanes) {
  if (cluster.findings.repeats(FindingKind::unwritten, instruction.line, 0, FindingReach::insideWarp))
    return;
  const std::vector<RegisterName> &names = cluster.grid->kernel->registerNames;
  const auto found = std::ranges::lower_bound(names, offset, {}, &RegisterName::offset);
  Finding finding;
  finding.kind = FindingKind::unwritten;
  finding.reach = FindingReach::insideWarp;
  finding.memory = found != names.end() && found->offset == offset ? fmt::format("register {}", found->name)
                                                                   : "a register";
  finding.site.what = "use";
  finding.site.lane = unsigned(std::countr_zero(lanes));
  finding.missing =
      "a write of it, or of a value that it was computed from, before this instruction; what the "
      "language leaves open, such as a quotient by 0, is no write";
  record(warp, instruction,
         fmt::format("use of {}, which nothing has written; missing: {}", finding.memory, finding.missing),
         finding);
}

void RegisterCheck::checkUse(Warp &warp, const Instruction &instruction, WarpRegisters &registers) {
  RegisterUse moved;
  for (const Slot &slot : slotsOf(instruction)) {
    if (slot.constant)
      continue;
    const RegisterUse &use = registers.uses[indexOf(slot)];
    if (use.product > registers.wgmmaWaited)
      reportRegister(warp, instruction, &warp.code[use.pc], "a register of a product under way is used",
                     "wgmma.wait_group between them");
    if (use.tensorLoad > registers.tensorLoadsWaited)
      reportRegister(warp, instruction, &warp.code[use.pc], "a register of a load under way is used",
                     "tcgen05.wait::ld between them");
    if (!slot.written && use.fences >= moved.fences)
      moved = use;
  }
  const bool moves = instruction.flow == Flow::parts;
  const RegisterUse used{.pc = uint32_t(&instruction - warp.code), .fences = registers.fences + 1};
  for (const Slot &slot : slotsOf(instruction)) {
    if (slot.constant || (moves && !slot.written))
      continue;
    RegisterUse &use = registers.uses[indexOf(slot)];
    // Of a move that only some lanes make, the result is in part what it was.
    if (!moves || instruction.guard == noGuard || moved.fences >= use.fences)
      use = moves ? moved : used;
  }
}

void RegisterCheck::issueWgmma(Warp &warp, const Instruction &instruction, const ProductRegisters &used,
                               uint32_t number) {
  WarpRegisters &registers = registersOf(warp);
  const uint32_t fences = registers.fences + 1;
  if (registers.fences == 0)
    reportRegister(warp, instruction, nullptr, "no fence comes before the product", "wgmma.fence before it");
  const auto take = [&](const Slot &slot, uint32_t shape) {
    if (slot.constant)
      return;
    RegisterUse &use = registers.uses[indexOf(slot)];
    if (use.fences == fences && use.shape != shape)
      reportRegister(warp, instruction, &warp.code[use.pc],
                     "a register of the product is used before it, and no fence is between",
                     "wgmma.fence between them");
    use = {.pc = uint32_t(&instruction - warp.code), .fences = fences, .shape = shape, .product = number};
  };
  const auto check = [&](const Slot &slot) {
    if (const uint32_t unwritten = slot.constant ? 0 : ~registers.written[indexOf(slot)])
      reportUnwritten(warp, instruction, slot.offset, unwritten);
  };
  for (const Slot &slot : used.fragments) {
    check(slot);
    take(slot, fragmentShape);
  }
  for (const Slot &slot : used.accumulators) {
    if (used.accumulates)
      check(slot);
    registers.written[indexOf(slot)] = ~0u;
    take(slot, used.shape);
  }
}

void RegisterCheck::reportRegister(Warp &warp, const Instruction &instruction, const Instruction *before,
                                   const std::string &what, const std::string &missing) {
  if (cluster.findings.repeats(FindingKind::productRegister, instruction.line, before ? before->line : 0))
    return;
  Finding finding;
  finding.kind = FindingKind::productRegister;
  finding.missing = missing;
  std::string text = what;
  if (before) {
    finding.before = siteOf(warp, *before);
    text += fmt::format(": '{}' at PTX line {} ({})", before->name, before->line, finding.before->location());
  }
  record(warp, instruction, fmt::format("{}; missing: {}", text, missing), finding);
}

void RegisterCheck::waitWgmma(const Warp &warp, uint64_t completed) {
  WarpRegisters &registers = registersOf(warp);
  registers.wgmmaWaited = std::max(registers.wgmmaWaited, uint32_t(completed));
}

void RegisterCheck::loadTensor(const Warp &warp, const Instruction &instruction) {
  WarpRegisters &registers = registersOf(warp);
  ++registers.tensorLoads;
  for (const Slot &slot : slotsOf(instruction))
    if (slot.written)
      registers.uses[indexOf(slot)] = {.pc = uint32_t(&instruction - warp.code),
                                       .tensorLoad = registers.tensorLoads};
}

} // namespace tlc::emulator
