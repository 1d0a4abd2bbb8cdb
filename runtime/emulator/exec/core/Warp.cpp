// SPDX-License-Identifier: Apache-2.0
/// \file
/// A warp as groups of convergent lanes. The group with the lowest pc runs, up
/// to the pc of the next one, where they merge; a waiting group does not keep
/// the others from running.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/report/SymbolName.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tlc::emulator {

namespace {

/// Instructions of a group before the other groups of its warp get their turn.
constexpr unsigned instructionsPerTurn = 8192;

/// A group that has arrived at a barrier may not run its instruction again.
bool mayRunAgain(const Group &group) { return group.wait.kind == Wait::Kind::none || !group.wait.advance; }

/// Lanes that wait for the members of different masks would only part again.
bool mayMerge(const Group &a, const Group &b) {
  const bool apart =
      a.wait.kind == Wait::Kind::lanes && b.wait.kind == Wait::Kind::lanes && a.wait.mask != b.wait.mask;
  return a.pc == b.pc && mayRunAgain(a) && mayRunAgain(b) && !apart;
}

void mergeGroups(Warp &warp) {
  for (size_t i = 0; i < warp.groups.size(); ++i)
    for (size_t j = i + 1; j < warp.groups.size();) {
      Group &a = warp.groups[i], &b = warp.groups[j];
      if (!mayMerge(a, b)) {
        ++j;
        continue;
      }
      a.mask |= b.mask;
      a.turn = std::min(a.turn, b.turn);
      a.ranAt = std::min(a.ranAt, b.ranAt);
      a.timedOut |= b.timedOut;
      a.wait.kind = Wait::Kind::none;
      warp.groups.erase(warp.groups.begin() + j);
    }
}

/// Wakes groups that may run and picks one; false when all wait.
bool pick(Warp &warp) {
  bool found = false;
  for (size_t i = 0; i < warp.groups.size(); ++i) {
    Group &group = warp.groups[i];
    if (group.wait.kind != Wait::Kind::none) {
      if (!isReady(warp, group))
        continue;
      group.pc += group.wait.advance;
      group.wait.kind = Wait::Kind::none;
      group.wait.advance = false;
    }
    const Group &best = warp.groups[warp.current];
    if (!found || std::pair(group.turn, group.pc) < std::pair(best.turn, best.pc))
      warp.current = i;
    found = true;
  }
  return found;
}

/// A warp that ran too long is most likely in one of the loops around `pc`, the innermost first.
Step faultEndless(Warp &warp, const Instruction &instruction, std::string text) {
  const Kernel &kernel = *gridOf(warp).kernel;
  std::vector<Loop> around;
  for (const Loop &loop : kernel.loops)
    if (loop.first <= warp.group().pc && warp.group().pc <= loop.last)
      around.push_back(loop);
  std::sort(around.begin(), around.end(),
            [](const Loop &a, const Loop &b) { return a.last - a.first < b.last - b.first; });
  for (const Loop &loop : around)
    text +=
        fmt::format("{} PTX lines {} to {}", &loop == &around.front() ? "; it is in the loop of" : ", inside",
                    kernel.code[loop.first].line, kernel.code[loop.last].line);
  return fault(warp, instruction, text);
}

/// Whether lanes at the one are together with those at the other.
bool isSameKind(const Instruction &a, const Instruction &b) { return a.eval == b.eval && a.name == b.name; }

bool waitsElsewhere(const Warp &warp, const Group &group, const Instruction &instruction, uint32_t mask) {
  const Wait &wait = group.wait;
  return wait.kind == Wait::Kind::lanes && wait.anywhere && wait.mask == mask &&
         &warp.code[group.pc] != &instruction && isSameKind(warp.code[group.pc], instruction);
}

/// Lanes that wait at other places with the mask of the group's, for the same.
uint32_t lanesElsewhere(const Warp &warp, const Group &group) {
  uint32_t lanes = 0;
  if (group.wait.anywhere)
    for (const Group &other : warp.groups)
      if (waitsElsewhere(warp, other, warp.code[group.pc], group.wait.mask))
        lanes |= other.mask;
  return lanes;
}

} // namespace

bool isReady(Warp &warp, const Group &group) {
  const Wait &wait = group.wait;
  switch (wait.kind) {
  case Wait::Kind::none:
  case Wait::Kind::yield:
    return true;
  case Wait::Kind::lanes:
    return (wait.mask & warp.live & ~(group.mask | lanesElsewhere(warp, group))) == 0;
  case Wait::Kind::mbarrier:
    return group.timedOut || std::any_of(wait.barriers.begin(), wait.barriers.end(), phasePassed);
  case Wait::Kind::barrier:
    return warp.block->barriers[wait.id].generation != wait.count;
  case Wait::Kind::cluster:
    return warp.block->cluster->barrier.generation != wait.count;
  case Wait::Kind::registers:
    return warp.block->freeRegisters >= wait.count;
  case Wait::Kind::asyncGroups:
    return warp.asyncGroups[size_t(wait.engine)].atMost(group.mask, wait.count);
  case Wait::Kind::warpgroup:
    return warp.block->warpgroups[warp.index / warpsPerWarpgroup].completed >= wait.count;
  case Wait::Kind::tensorMemory:
    return mayAllocate(warp, wait.count);
  }
  return true;
}

const Instruction *nextInstruction(Warp &warp) {
  std::optional<std::pair<uint32_t, uint32_t>> first;
  for (const Group &group : warp.groups) {
    if (!isReady(warp, group))
      continue;
    const bool passes = group.wait.kind != Wait::Kind::none && group.wait.advance;
    const std::pair candidate(group.turn, group.pc + passes);
    first = first ? std::min(*first, candidate) : candidate;
  }
  return first ? &warp.code[first->second] : nullptr;
}

Step suspend(Warp &warp, Wait wait) {
  warp.group().wait = std::move(wait);
  return Step::wait;
}

Step giveWay(Warp &warp) {
  Wait wait;
  wait.kind = Wait::Kind::yield;
  wait.advance = true;
  ++warp.group().turn;
  return suspend(warp, std::move(wait));
}

Step poll(Warp &warp, const Instruction &instruction, uint64_t address) {
  const Poll before = std::exchange(warp.lastPoll, {&instruction, address, clusterOf(warp).progress});
  return before == warp.lastPoll ? giveWay(warp) : Step::next;
}

bool gather(Warp &warp, uint32_t active, uint32_t needed) {
  if ((needed & warp.live & ~active) == 0)
    return true;
  Wait wait;
  wait.kind = Wait::Kind::lanes;
  wait.mask = needed;
  warp.group().wait = std::move(wait);
  return false;
}

bool groupByMask(Warp &warp, uint32_t active, const Instruction &instruction, Slot slot,
                 MemberGroups &groups) {
  const In<uint32_t> masks = lanesOf<uint32_t>(warp, slot);
  while (active != 0) {
    const unsigned first = unsigned(std::countr_zero(active));
    const uint32_t mask = masks[first];
    uint32_t lanes = 0;
    for (unsigned l = first; l < warpSize; ++l)
      lanes |= masks[l] == mask ? active & laneBits[l] : 0;
    active &= ~lanes;
    if ((lanes & ~mask) != 0) {
      fault(warp, instruction,
            fmt::format("lane {} is not in the member mask {:#010x} that it names",
                        std::countr_zero(lanes & ~mask), mask));
      return false;
    }
    if ((mask & warp.live & ~lanes) == 0)
      groups.together[groups.togetherCount++] = lanes;
    else
      groups.waiting[groups.waitingCount++] = {lanes, mask};
  }
  return true;
}

bool joinElsewhere(Warp &warp, uint32_t mask, Members &members) {
  const Instruction &instruction = *members.parts().front().instruction;
  for (const Group &other : warp.groups)
    if (waitsElsewhere(warp, other, instruction, mask))
      members.add(other.mask, warp.code[other.pc]);
  if ((mask & warp.live & ~members.lanes()) != 0)
    return false;
  for (Group &other : warp.groups)
    if (waitsElsewhere(warp, other, instruction, mask)) {
      other.wait.kind = Wait::Kind::yield;
      other.wait.advance = true;
    }
  return true;
}

Step awaitMembers(Warp &warp, uint32_t active, const MemberGroups &groups) {
  const auto wait = [](uint32_t mask) {
    Wait result;
    result.kind = Wait::Kind::lanes;
    result.anywhere = true;
    result.mask = mask;
    return result;
  };
  if (groups.waiting[0].lanes == active)
    return suspend(warp, wait(groups.waiting[0].mask));
  const Group here = warp.group();
  warp.groups.erase(warp.groups.begin() + ptrdiff_t(warp.current));
  warp.current = 0;
  Group passed = here;
  ++passed.pc;
  for (unsigned i = 0; i < groups.waitingCount; ++i) {
    Group waits = here;
    waits.mask = groups.waiting[i].lanes;
    waits.wait = wait(groups.waiting[i].mask);
    passed.mask &= ~waits.mask;
    warp.groups.push_back(std::move(waits));
  }
  if (passed.mask != 0)
    warp.groups.push_back(std::move(passed));
  return Step::moved;
}

Step branch(Warp &warp, uint32_t taken, uint32_t pc) {
  Group &group = warp.group();
  const uint32_t others = group.mask & ~taken;
  if (others == 0) {
    group.pc = pc;
    return Step::moved;
  }
  Group split;
  split.pc = pc;
  split.mask = taken;
  split.turn = group.turn;
  split.ranAt = group.ranAt;
  group.mask = others;
  ++group.pc;
  warp.groups.push_back(std::move(split));
  return Step::moved;
}

Step jumpLanes(Warp &warp, uint32_t active, const uint32_t *pcs) {
  Group here = warp.group();
  const uint32_t others = here.mask & ~active;
  warp.groups.erase(warp.groups.begin() + warp.current);
  warp.current = 0;
  if (others != 0) {
    Group passed = here;
    passed.mask = others;
    ++passed.pc;
    warp.groups.push_back(std::move(passed));
  }
  while (active != 0) {
    Group split;
    split.turn = here.turn;
    split.ranAt = here.ranAt;
    split.pc = pcs[std::countr_zero(active)];
    for (unsigned l = 0; l < warpSize; ++l)
      if (active >> l & 1 && pcs[l] == split.pc)
        split.mask |= 1u << l;
    active &= ~split.mask;
    warp.groups.push_back(std::move(split));
  }
  return Step::moved;
}

Step exitLanes(Warp &warp, uint32_t lanes) {
  Group &group = warp.group();
  group.mask &= ~lanes;
  warp.live &= ~lanes;
  ++group.pc;
  if (group.mask == 0) {
    warp.groups.erase(warp.groups.begin() + warp.current);
    warp.current = 0;
  }
  ++clusterOf(warp).progress;
  leaveBarriers(*warp.block);
  return Step::moved;
}

void faultLongLaunch(Cluster &cluster, uint64_t limit) {
  Warp *longest = nullptr;
  const Instruction *at = nullptr;
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      if (const Instruction *next = warp.done() ? nullptr : nextInstruction(warp);
          next && (!longest || warp.steps > longest->steps))
        longest = &warp, at = next;
  if (longest)
    faultEndless(*longest, *at,
                 fmt::format("the warps of the launch have run more than {} instructions together, {} times "
                             "the limit for each (--max-steps), this one {}",
                             limit, limit / gridOf(*longest).maximumSteps, longest->steps));
}

RunState runWarp(Warp &warp, unsigned instructions) {
  bool ran = false;
  const uint64_t maximumSteps = gridOf(warp).maximumSteps;
  Cluster &cluster = clusterOf(warp);
  Observer *observer = cluster.observer.get();
  unsigned budget = instructions;
  while (!warp.groups.empty()) {
    if (warp.groups.size() > 1)
      mergeGroups(warp);
    warp.current = 0;
    if (!pick(warp))
      break;
    ran = true;
    if (warp.groups.size() > 1) {
      // What has just woken up may stand beside another group.
      const uint32_t pc = warp.group().pc;
      mergeGroups(warp);
      for (size_t i = 0; i < warp.groups.size(); ++i)
        if (warp.groups[i].pc == pc && warp.groups[i].wait.kind == Wait::Kind::none)
          warp.current = i;
    }
    warp.group().ranAt = warp.steps;
    uint32_t limit = ~0u;
    for (const Group &other : warp.groups)
      if (other.pc > warp.group().pc)
        limit = std::min(limit, other.pc);
    Step step = Step::next;
    while (step == Step::next) {
      Group &group = warp.group();
      const Instruction &instruction = warp.code[group.pc];
      uint32_t active = group.mask;
      if (instruction.guard != noGuard) {
        uint32_t guard;
        std::memcpy(&guard, warp.registers + instruction.guard, sizeof(guard));
        if (observer)
          observer->evaluateGuard(warp, instruction, active);
        active &= instruction.guardNegated ? ~guard : guard;
      }
      if (active != 0) {
        if (warp.steps >= maximumSteps) {
          faultEndless(
              warp, instruction,
              fmt::format("the warp has run {} instructions, the limit (--max-steps)", maximumSteps));
          return RunState::fault;
        }
        if (observer)
          observer->execute(warp, instruction, active);
        step = instruction.eval(warp, active, instruction);
        ++warp.steps;
        ++cluster.warpInstructions;
        cluster.threadInstructions += active == allLanes ? warpSize : unsigned(std::popcount(active));
      }
      if (step == Step::next) {
        ++group.pc;
        if (group.pc == limit)
          break;
      } else if (step == Step::wait) {
        Group &waiting = warp.group();
        if (waiting.mask != active) {
          Group passed;
          passed.pc = waiting.pc + 1;
          passed.mask = waiting.mask & ~active;
          passed.turn = waiting.turn;
          passed.ranAt = waiting.ranAt;
          waiting.mask = active;
          warp.groups.push_back(std::move(passed));
        }
      } else if (step == Step::fault) {
        return RunState::fault;
      }
      if (--budget == 0) {
        if (step != Step::wait && !warp.groups.empty()) {
          Group &last = warp.group();
          last.ran += instructions;
          last.turn += last.ran / instructionsPerTurn;
          last.ran %= instructionsPerTurn;
        }
        return RunState::ran;
      }
    }
    if (step == Step::wait && warp.group().wait.kind == Wait::Kind::yield)
      return RunState::ran;
  }
  return ran ? RunState::ran : RunState::idle;
}

FindingSite siteOf(const Warp &warp, const Instruction &instruction) {
  const Grid &grid = gridOf(warp);
  FindingSite site = siteOf(*grid.program, *grid.names, warp.index, instruction);
  site.block = warp.block->id;
  if (!grid.isAlone)
    site.device = grid.device;
  return site;
}

FindingSite siteOf(const Program &program, const LaunchNames &names, unsigned warp,
                   const Instruction &instruction) {
  const SourceLocation &location = program.module.locations[instruction.location];
  FindingSite site;
  site.instruction = instruction.name;
  site.file = location.file, site.line = location.line, site.column = location.column;
  site.ptxLine = instruction.line;
  site.warp = warp;
  if (const WarpRole *role = names.roleOf(warp))
    site.role = role->name;
  return site;
}

void record(Warp &warp, const Instruction &instruction, const std::string &what, Finding finding) {
  // What the finder knows of the site, it has set.
  FindingSite site = siteOf(warp, instruction);
  site.what = std::move(finding.site.what), site.lane = finding.site.lane, site.repeat = finding.site.repeat;
  finding.site = std::move(site);
  finding.kernel = gridOf(warp).kernel->name;
  finding.message =
      fmt::format("{}: {}{} ('{}' at PTX line {} of '{}', {})", finding.site.location(),
                  finding.level == FindingLevel::warning ? "warning: " : "", what, instruction.name,
                  instruction.line, readableName(finding.kernel), finding.site.place());
  clusterOf(warp).findings.add(std::move(finding));
}

Step fault(Warp &warp, const Instruction &instruction, const std::string &what) {
  Cluster &cluster = clusterOf(warp);
  if (!cluster.faulted)
    record(warp, instruction, what, {.kind = FindingKind::fault});
  cluster.faulted = true;
  return Step::fault;
}

} // namespace tlc::emulator
