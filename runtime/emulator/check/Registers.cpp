// SPDX-License-Identifier: Apache-2.0
/// \file
/// Registers and local memory. A register that nothing has written may be moved
/// and computed with, as compilers do with values that nobody needs; it must not
/// become an address, a stored value or a decision. Products and loads of tensor
/// memory have registers while they are under way, and wgmma.fence comes between
/// other uses of a register and a product's; a move has none of its own, its
/// result stands for what it moves.
#include "runtime/emulator/check/RaceChecker.h"
#include "runtime/emulator/exec/State.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

constexpr uint32_t fragmentShape = 1;

std::span<const Slot> slotsOf(const Instruction &instruction) {
  return {instruction.slots, instruction.slotCount};
}

/// What registers that nothing has written are to results: lanes of which they are all bits, or none.
struct Dependence {
  uint32_t whole = 0, none = ~0u;
};

/// Runs the instruction, which has no effect but its results, with all bits of these registers clear and set.
Dependence dependenceOf(Warp &warp, const Instruction &instruction, uint32_t lanes,
                        const std::vector<uint32_t> &written) {
  const auto isPredicate = [](const Slot &slot) { return slot.bytes == 0; };
  const auto bytesOf = [&](const Slot &slot) {
    return isPredicate(slot) ? sizeof(uint32_t) : size_t(slot.bytes) * warpSize;
  };
  std::vector<std::vector<std::byte>> before, results[2];
  for (const Slot &slot : slotsOf(instruction))
    before.emplace_back(warp.read(slot), warp.read(slot) + bytesOf(slot));
  for (const bool set : {false, true}) {
    for (const Slot &slot : slotsOf(instruction)) {
      if (slot.written || slot.constant)
        continue;
      const uint32_t unwritten = lanes & ~written[slot.offset / registerGranule];
      if (isPredicate(slot))
        warp.setPredicate(slot, unwritten, set ? ~0u : 0);
      else
        for (uint32_t left = unwritten; left != 0; left &= left - 1)
          std::memset(warp.at(slot) + size_t(std::countr_zero(left)) * slot.bytes, set ? 0xFF : 0,
                      slot.bytes);
    }
    instruction.eval(warp, lanes, instruction);
    for (const Slot &slot : slotsOf(instruction))
      if (slot.written)
        results[set].emplace_back(warp.read(slot), warp.read(slot) + bytesOf(slot));
    for (size_t i = 0; i < before.size(); ++i)
      if (!instruction.slots[i].constant)
        std::ranges::copy(before[i], warp.at(instruction.slots[i]));
  }
  Dependence on{.whole = lanes};
  size_t index = 0;
  for (const Slot &slot : slotsOf(instruction)) {
    if (!slot.written)
      continue;
    const std::vector<std::byte> &clear = results[0][index], &set = results[1][index];
    ++index;
    if (isPredicate(slot)) {
      uint32_t differ = 0;
      for (size_t i = 0; i < sizeof(differ); ++i)
        differ |= uint32_t(clear[i] ^ set[i]) << 8 * i;
      on.whole &= differ, on.none &= ~differ;
      continue;
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const unsigned lane = unsigned(std::countr_zero(left));
      const auto differs = [&](size_t i) { return clear[i] ^ set[i]; };
      for (size_t i = lane * slot.bytes, end = i + slot.bytes; i < end; ++i) {
        on.whole &= ~(uint32_t(differs(i) != std::byte(0xFF)) << lane);
        on.none &= ~(uint32_t(differs(i) != std::byte(0)) << lane);
      }
    }
  }
  return on;
}

} // namespace

void RaceChecker::registers(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  overlap = false;
  if (!agent.flagReads.empty())
    takeFlagReads(agent);
  if (!agent.uses.empty())
    checkUse(warp, instruction, agent);
  follow(warp, instruction, agent, lanes);
}

// --- what nothing has written --------------------------------------------------------------

void RaceChecker::guard(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  if (const uint32_t unwritten = lanes & ~agentOf(warp).written[instruction.guard / registerGranule])
    reportUnwritten(warp, instruction, instruction.guard, unwritten);
}

void RaceChecker::setWritten(Agent &agent, const Slot &slot, uint32_t lanes, uint32_t written) {
  uint32_t &mask = agent.written[indexOf(slot)];
  mask = (mask & ~lanes) | (written & lanes);
}

void RaceChecker::follow(Warp &warp, const Instruction &instruction, Agent &agent, uint32_t lanes) {
  if (instruction.flow == Flow::lanes)
    return;
  uint32_t *const written = agent.written.data();
  uint32_t every = ~0u, some = 0;
  bool any = false, constants = false;
  for (const Slot &slot : slotsOf(instruction)) {
    if (slot.written)
      continue;
    if (slot.constant) {
      constants = true;
      continue;
    }
    any = true;
    every &= written[indexOf(slot)];
    some |= written[indexOf(slot)];
  }
  uint32_t result = ~0u;
  if (any && (lanes & ~every) != 0)
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
    case Flow::bits: {
      const Dependence on = dependenceOf(warp, instruction, lanes, agent.written);
      result = every | on.none | (some & ~on.whole);
      break;
    }
    case Flow::parts:
      result = constants ? ~0u : some;
      break;
    case Flow::select: {
      const auto of = [&](size_t i) { return writtenIn(agent, instruction.slots[i]); };
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
      setWritten(agent, slot, lanes, result);
}

void RaceChecker::combineLanes(const Warp &warp, const Instruction &instruction, uint32_t lanes) {
  Agent &agent = agentOf(warp);
  uint32_t every = ~0u;
  for (const Slot &slot : slotsOf(instruction))
    if (!slot.written)
      every &= writtenIn(agent, slot);
  for (const Slot &slot : slotsOf(instruction))
    if (slot.written)
      setWritten(agent, slot, lanes, (lanes & ~every) == 0 ? ~0u : 0);
}

void RaceChecker::shuffleLanes(const Warp &warp, const Instruction &instruction, uint32_t lanes,
                               std::span<const uint32_t> sources) {
  // slots: value, predicate, from what, which lane, clamp, mask
  Agent &agent = agentOf(warp);
  const uint32_t of = writtenIn(agent, instruction.slots[2]),
                 which = writtenIn(agent, instruction.slots[3]) & writtenIn(agent, instruction.slots[4]);
  uint32_t value = 0;
  for (size_t lane = 0; lane < sources.size(); ++lane)
    value |= (of >> sources[lane] & 1) << lane;
  setWritten(agent, instruction.slots[0], lanes, value & which);
  setWritten(agent, instruction.slots[1], lanes, which);
}

void RaceChecker::accessLocal(const Warp &warp, const Instruction &instruction, const Touch &access) {
  Agent &agent = agentOf(warp);
  const uint64_t base = access.lane * uint64_t(cluster.grid->kernel->localBytes) + access.address;
  const auto bytes = agent.writtenLocal.begin() + ptrdiff_t(base);
  if (access.kind != AccessKind::read) {
    // slots: address, values
    const size_t values = instruction.slotCount > 1 ? instruction.slotCount - 1u : 1;
    for (uint64_t i = 0; i < access.bytes; ++i) {
      const Slot &slot = instruction.slots[instruction.slotCount > 1 ? 1 + i * values / access.bytes : 0];
      bytes[ptrdiff_t(i)] = slot.constant || (agent.written[indexOf(slot)] >> access.lane & 1) != 0;
    }
    return;
  }
  const size_t results =
      size_t(std::ranges::count_if(slotsOf(instruction), [](const Slot &slot) { return slot.written; }));
  if (results == 0)
    return;
  size_t element = 0;
  const uint64_t each = access.bytes / results;
  for (const Slot &slot : slotsOf(instruction)) {
    if (!slot.written)
      continue;
    const auto first = bytes + ptrdiff_t(element++ * each);
    if (std::find(first, first + ptrdiff_t(each), false) != first + ptrdiff_t(each))
      agent.written[indexOf(slot)] &= ~(1u << access.lane);
  }
}

void RaceChecker::copyLocal(const Warp &warp, unsigned lane, uint64_t to, uint64_t from, uint64_t bytes) {
  const auto all = agentOf(warp).writtenLocal.begin() + ptrdiff_t(lane * cluster.grid->kernel->localBytes);
  std::copy_n(all + ptrdiff_t(from), bytes, all + ptrdiff_t(to));
}

void RaceChecker::fillLocal(const Warp &warp, unsigned lane, uint64_t at, uint64_t bytes) {
  const auto all = agentOf(warp).writtenLocal.begin() + ptrdiff_t(lane * cluster.grid->kernel->localBytes);
  std::fill_n(all + ptrdiff_t(at), bytes, true);
}

void RaceChecker::reportUnwritten(Warp &warp, const Instruction &instruction, uint32_t offset,
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
  finding.missing = "a write of it, or of what it was computed from, on the way here";
  record(warp, instruction,
         fmt::format("use of {}, which nothing has written; missing: {}", finding.memory, finding.missing),
         finding);
}

// --- what is under way ------------------------------------------------------------------------

void RaceChecker::checkUse(Warp &warp, const Instruction &instruction, Agent &agent) {
  RegisterUse moved;
  for (const Slot &slot : slotsOf(instruction)) {
    if (slot.constant)
      continue;
    const RegisterUse &use = agent.uses[indexOf(slot)];
    if (use.product > agent.wgmmaWaited)
      reportRegister(warp, instruction, &warp.code[use.pc], "a register of a product under way is used",
                     "wgmma.wait_group between them");
    if (use.tensorLoad > agent.tensorLoadsWaited)
      reportRegister(warp, instruction, &warp.code[use.pc], "a register of a load under way is used",
                     "tcgen05.wait::ld between them");
    if (!slot.written && use.fences >= moved.fences)
      moved = use;
  }
  const bool moves = instruction.flow == Flow::parts;
  const RegisterUse used{.pc = uint32_t(&instruction - warp.code), .fences = agent.fences + 1};
  for (const Slot &slot : slotsOf(instruction)) {
    if (slot.constant || (moves && !slot.written))
      continue;
    RegisterUse &use = agent.uses[indexOf(slot)];
    // Of a move that only some lanes make, the result is in part what it was.
    if (!moves || instruction.guard == noGuard || moved.fences >= use.fences)
      use = moves ? moved : used;
  }
}

void RaceChecker::takeRegisters(Warp &warp, const Instruction &instruction, const ProductRegisters &used,
                                uint32_t number) {
  Agent &agent = agentOf(warp);
  const uint32_t fences = agent.fences + 1;
  if (agent.fences == 0)
    reportRegister(warp, instruction, nullptr, "no fence comes before the product", "wgmma.fence before it");
  const auto take = [&](const Slot &slot, uint32_t shape) {
    if (slot.constant)
      return;
    RegisterUse &use = agent.uses[indexOf(slot)];
    if (use.fences == fences && use.shape != shape)
      reportRegister(warp, instruction, &warp.code[use.pc],
                     "a register of the product is used before it, and no fence is between",
                     "wgmma.fence between them");
    use = {.pc = uint32_t(&instruction - warp.code), .fences = fences, .shape = shape, .product = number};
  };
  const auto check = [&](const Slot &slot) {
    if (const uint32_t unwritten = slot.constant ? 0 : ~agent.written[indexOf(slot)])
      reportUnwritten(warp, instruction, slot.offset, unwritten);
  };
  for (const Slot &slot : used.fragments) {
    check(slot);
    take(slot, fragmentShape);
  }
  for (const Slot &slot : used.accumulators) {
    if (used.accumulates)
      check(slot);
    agent.written[indexOf(slot)] = ~0u;
    take(slot, used.shape);
  }
}

void RaceChecker::reportRegister(Warp &warp, const Instruction &instruction, const Instruction *before,
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

} // namespace tlc::emulator
