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

} // namespace

void RaceChecker::registers(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  Agent &agent = agentOf(warp);
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

void RaceChecker::follow(Warp &warp, const Instruction &instruction, Agent &agent, uint32_t lanes) {
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
    case Flow::any:
      result = every;
      break;
    case Flow::all:
      result = some;
      break;
    case Flow::parts:
      result = constants ? ~0u : some;
      break;
    case Flow::select: {
      const auto of = [&](size_t i) {
        const Slot &slot = instruction.slots[i];
        return slot.constant ? ~0u : written[indexOf(slot)];
      };
      const uint32_t choice = warp.predicate(instruction.slots[3]);
      result = of(3) & ((choice & of(1)) | (~choice & of(2)));
      break;
    }
    case Flow::ends:
      break;
    }
  for (const Slot &slot : slotsOf(instruction))
    if (slot.written) {
      uint32_t &mask = written[indexOf(slot)];
      mask = (mask & ~lanes) | (result & lanes);
    }
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
