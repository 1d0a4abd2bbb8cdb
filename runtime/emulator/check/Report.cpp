// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a finding says: both accesses, and the synchronisation that is missing.
#include "runtime/emulator/check/RaceChecker.h"
#include "runtime/emulator/exec/State.h"

#include <fmt/format.h>

namespace tlc::emulator {

namespace {

std::string_view nameOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::read:
    return "read";
  case AccessKind::write:
    return "write";
  case AccessKind::atomic:
    return "atomic access";
  case AccessKind::mbarrier:
    return "use as an mbarrier";
  }
  return "access";
}

} // namespace

std::string RaceChecker::placeOf(unsigned block, uint32_t address) const {
  std::string text = fmt::format("shared offset {}", address - sharedBase);
  if (cluster.blocks.size() > 1)
    text += fmt::format(" of block rank {}", block);
  return text;
}

std::string RaceChecker::describe(const Record &record) const {
  const bool asynchronous = columns[record.column].kind != ColumnInfo::Kind::warp;
  return fmt::format("{}{}", asynchronous ? "asynchronous " : "", nameOf(record.kind));
}

std::string RaceChecker::missing(const Record &before, const Record &now) const {
  using Kind = ColumnInfo::Kind;
  const auto warpText = [&](unsigned index) {
    const Warp &warp = *agents[index].warp;
    return cluster.blocks.size() > 1 ? fmt::format("warp {} of block rank {}", warp.index, warp.block->rank)
                                     : fmt::format("warp {}", warp.index);
  };
  const ColumnInfo &column = columns[before.column], &nowColumn = columns[now.column];
  const auto wait = [&](const ColumnInfo &of, const Record &record) {
    switch (of.kind) {
    case Kind::warp:
      break;
    case Kind::laneCopies:
      return fmt::format("cp.async.wait_group in {}", warpText(of.warp));
    case Kind::bulkCopies:
      return fmt::format("cp.async.bulk.wait_group in {}", warpText(of.warp));
    case Kind::wgmma:
      return fmt::format("wgmma.wait_group in the warpgroup of {}", warpText(of.warp));
    case Kind::mbarrier:
      return fmt::format("a wait for phase {} of the mbarrier at {}", (record.number - 1) & 1,
                         placeOf(of.block, of.address));
    }
    return std::string();
  };
  if (column.kind == Kind::warp) {
    // What the issuing warp did before is known to the operation.
    if (nowColumn.kind != Kind::warp && before.warp == now.warp)
      return wait(nowColumn, now) + " before that " + std::string(nameOf(before.kind));
    const std::string order = fmt::format("a barrier or mbarrier at which {} waits for {}",
                                          warpText(now.warp), warpText(before.warp));
    return nowColumn.kind == Kind::warp
               ? order
               : fmt::format("{}, before the operation is issued, or {} before that {}", order,
                             wait(nowColumn, now), nameOf(before.kind));
  }
  std::string text = wait(column, before);
  for (size_t index = 0; index < agents.size(); ++index)
    if (index != now.warp && agents[index].known.seen.at(before.column) >= before.number)
      return fmt::format("{0}, or a barrier behind that of {1}", text, warpText(unsigned(index)));
  return text;
}

bool RaceChecker::report(Warp &warp, const Instruction &instruction, const Record &now,
                         const Finding &finding, const Block &block) {
  const std::string place = placeOf(block.rank, finding.address);
  if (finding.conflict == Conflict::unwritten) {
    fault(warp, instruction,
          fmt::format("{} of {}, which nothing has written; missing: the write, or a wait for it",
                      describe(now), place));
    return false;
  }
  const Record &before = finding.before;
  const Warp &other = *agents[before.warp].warp;
  const Instruction &first = other.code[before.pc];
  const std::string accesses = fmt::format("{} of {} and the {} by '{}' at PTX line {} ({}, {})",
                                           describe(now), place, describe(before), first.name, first.line,
                                           locationText(*cluster.grid, first), placeText(other));
  if (finding.conflict == Conflict::unfenced)
    fault(warp, instruction,
          fmt::format("proxy race between the {}; missing: fence.proxy.async between them, by a thread that "
                      "comes behind that {}",
                      accesses, nameOf(before.kind)));
  else
    fault(warp, instruction, fmt::format("race between the {}; missing: {}", accesses, missing(before, now)));
  return false;
}

} // namespace tlc::emulator
