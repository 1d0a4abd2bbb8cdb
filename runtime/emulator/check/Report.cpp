// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a finding says: both accesses, and the synchronisation that is missing.
#include "runtime/emulator/check/RaceChecker.h"
#include "runtime/emulator/exec/State.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

std::string_view nameOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::read:
    return "read";
  case AccessKind::write:
    return "write";
  case AccessKind::initialise:
    return "initialisation of an mbarrier";
  case AccessKind::atomic:
    return "atomic access";
  case AccessKind::mbarrier:
    return "use as an mbarrier";
  }
  return "access";
}

} // namespace

const Instruction &RaceChecker::instructionOf(const Record &record) const {
  const bool own = record.cluster == 0 || record.cluster == number();
  const Kernel &kernel =
      own ? *cluster.grid->kernel : *cluster.grid->order->shadow->launchOf(record.cluster).kernel;
  return kernel.code[record.pc];
}

FindingSite RaceChecker::siteOfRecord(const Record &record) const {
  FindingSite site;
  if (record.cluster == 0 || record.cluster == number()) {
    const Warp &own = *agents[record.warp].warp;
    site = siteOf(own, own.code[record.pc]);
  } else {
    const CheckedLaunch launch = cluster.grid->order->shadow->launchOf(record.cluster);
    site = siteOf(*launch.program, *launch.names, record.warp % launch.warpsOfBlock, instructionOf(record));
    site.block = blockId(launch.blocks, launch.cluster, record.cluster - launch.first,
                         record.warp / launch.warpsOfBlock);
    if (record.device != cluster.grid->device)
      site.kernel = launch.kernel->name;
    if (!cluster.grid->isAlone)
      site.device = record.device;
  }
  site.what = describe(record);
  site.repeat = record.repeat;
  if (record.lane < warpSize)
    site.lane = record.lane;
  return site;
}

std::string RaceChecker::placeOfGlobal(uint64_t address) const {
  const MemoryRange *range = cluster.grid->memory->find(address);
  if (!range)
    return fmt::format("global address {:#x}", address);
  return fmt::format("offset {} of the allocation of {} bytes at {:#x}{}", address - range->address,
                     range->bytes, range->address,
                     cluster.grid->isAlone ? "" : fmt::format(" of device {}", range->device));
}

std::string RaceChecker::placeOf(unsigned block, uint32_t address) const {
  std::string text = describeShared(cluster.blocks[block], address);
  if (cluster.blocks.size() > 1)
    text += fmt::format(" of block rank {}", block);
  return text;
}

std::string RaceChecker::describe(const Record &record) const {
  const bool asynchronous = record.column != record.warp;
  return fmt::format("{}{}", asynchronous ? "asynchronous " : "", nameOf(record.kind));
}

std::string RaceChecker::missingBetweenClusters(const Record &before, const Record &now) const {
  const bool devices = before.device != now.device;
  const std::string scope = devices ? "scope .sys" : "scope .gpu, or wider,",
                    why = devices ? "; .gpu does not reach another device" : "";
  if (before.strong && now.strong)
    return scope + " of both" + why;
  const Knowledge &known = running ? running->known : partyOf(agents[now.warp], now.lane).known;
  if (Point::isForeign(known.narrow.get(), before, &ForeignClocks::seen))
    return fmt::format("{} at both ends of the synchronisation between these {}{}", scope,
                       devices ? "devices, fences included" : "blocks", why);
  return devices ? "a release and an acquire of scope .sys between these devices, or a wait of the host "
                   "for the first launch before the second"
                 : "a release and an acquire between these blocks; blocks run in any order";
}

std::string RaceChecker::missing(const Record &before, const Record &now) const {
  using Kind = ColumnInfo::Kind;
  const auto warpText = [&](unsigned index) {
    const Warp &warp = *agents[index].warp;
    return cluster.blocks.size() > 1 ? fmt::format("warp {} of block rank {}", warp.index, warp.block->rank)
                                     : fmt::format("warp {}", warp.index);
  };
  if (before.cluster != now.cluster)
    return missingBetweenClusters(before, now);
  Knowledge missed;
  missed.seen = agents[now.warp].missed;
  if (const Point wider{.known = missed,
                        .lanes = laneColumns,
                        .initialisers = initialisers,
                        .warp = now.warp,
                        .cluster = now.cluster};
      wider.isBehind(before))
    return "scope .cluster, or wider, at both ends of the synchronisation between these blocks";
  const ColumnInfo &column = columns[before.column], &nowColumn = columns[now.column];
  const auto wait = [&](const ColumnInfo &of, const Record &record) {
    switch (of.kind) {
    case Kind::warp:
    case Kind::lane:
    case Kind::grid:
      break;
    case Kind::laneCopies:
      return fmt::format("cp.async.wait_group in {}", warpText(of.warp));
    case Kind::bulkCopies:
      return fmt::format("cp.async.bulk.wait_group{} in {}", record.kind == AccessKind::read ? ".read" : "",
                         warpText(of.warp));
    case Kind::tensorLoads:
    case Kind::tensorStores:
    case Kind::tensorPipe:
      return fmt::format("a wait for the mbarrier of a tcgen05.commit of {}", warpText(of.warp));
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
    if (before.warp == now.warp) {
      if (!running || before.number <= running->own)
        return fmt::format("bar.warp.sync in {} between them", warpText(now.warp));
      return wait(nowColumn, now) + " before that " + std::string(nameOf(before.kind));
    }
    const std::string order = fmt::format("a barrier or mbarrier at which {} waits for {}",
                                          warpText(now.warp), warpText(before.warp));
    return nowColumn.kind == Kind::warp
               ? order
               : fmt::format("{}, before the operation is issued, or {} before that {}", order,
                             wait(nowColumn, now), nameOf(before.kind));
  }
  std::string text = wait(column, before);
  if (column.kind == Kind::laneCopies && before.warp == now.warp && before.lane != now.lane)
    text += " and bar.warp.sync behind it";
  for (size_t index = 0; index < agents.size(); ++index)
    if (index != now.warp &&
        std::any_of(agents[index].parties.begin(), agents[index].parties.end(),
                    [&](const Party &party) { return party.known.seen.at(before.column) >= before.number; }))
      return fmt::format("{0}, or a barrier behind that of {1}", text, warpText(unsigned(index)));
  return text;
}

std::string RaceChecker::missingFence(const Record &before, const Record &now) const {
  if (now.proxy == Proxy::tensorMap)
    return "fence.proxy.tensormap::generic.release behind that write, and behind this "
           "fence.proxy.tensormap::generic.acquire of the map before its use";
  if (before.kind == AccessKind::initialise)
    return "fence.mbarrier_init behind it, by the same thread";
  return fmt::format("fence.proxy.async{} between them, by a thread that comes behind that {}",
                     now.cluster != 0 ? " (or .global)" : "", nameOf(before.kind));
}

void RaceChecker::report(Warp &warp, const Instruction &instruction, const Record &now,
                         const Conflict &conflict, const std::string &place) {
  Finding finding;
  const Record &before = conflict.before;
  const Instruction *first = before.number != 0 ? &instructionOf(before) : nullptr;
  switch (conflict.wrong) {
  case Wrong::nothing:
  case Wrong::overlap:
    return;
  case Wrong::unordered:
  case Wrong::early:
    finding.kind = FindingKind::race;
    break;
  case Wrong::unfenced:
  case Wrong::readOnly:
    finding.kind = FindingKind::proxyRace;
    break;
  case Wrong::unwritten:
    finding.kind = FindingKind::unwritten;
    break;
  case Wrong::ended:
    finding.kind = FindingKind::earlyExit;
    break;
  }
  if (first && before.warp == now.warp && before.cluster == now.cluster)
    finding.reach = FindingReach::insideWarp;
  if (first && before.device != now.device)
    finding.reach = FindingReach::betweenDevices;
  if (cluster.findings.repeats(finding.kind, instruction.line, first ? first->line : 0, finding.reach))
    return;
  finding.memory = place;
  finding.site = siteOfRecord(now);
  std::string text;
  if (conflict.wrong == Wrong::unwritten) {
    text = fmt::format("{} of {}, which nothing has written", finding.site.what, place);
    finding.missing = now.cluster != 0 ? "a write by the host or a kernel" : "the write, or a wait for it";
  } else if (conflict.wrong == Wrong::early) {
    text =
        fmt::format("{} of {}, which the launch before this one may still access", finding.site.what, place);
    finding.missing = "griddepcontrol.wait before it";
  } else {
    finding.before = siteOfRecord(before);
    const std::string by = fmt::format("by '{}' at PTX line {} ({}, {})", first->name, first->line,
                                       finding.before->location(), finding.before->place());
    if (conflict.wrong == Wrong::ended) {
      text = fmt::format("the block ends without an order behind the {} of {} {}", finding.before->what,
                         place, by);
      finding.site.what = "exit";
    } else {
      text = fmt::format("{} between the {} of {} and the {} {}", toString(finding.kind), finding.site.what,
                         place, finding.before->what, by);
    }
    finding.missing = conflict.wrong == Wrong::unfenced ? missingFence(before, now)
                      : conflict.wrong == Wrong::readOnly
                          ? "ld.global without .nc, as this launch writes what it reads"
                          : missing(before, now);
  }
  record(warp, instruction, fmt::format("{}; missing: {}", text, finding.missing), finding);
}

void RaceChecker::reportOverlap(Warp &warp, const Instruction &instruction, unsigned first, unsigned second,
                                const SharedPlace &place) {
  if (cluster.findings.repeats(FindingKind::lanes, instruction.line))
    return;
  Finding finding;
  finding.kind = FindingKind::lanes;
  finding.reach = FindingReach::insideWarp;
  finding.memory = placeOf(place.block->rank, place.address);
  finding.site.what = "write";
  record(warp, instruction,
         fmt::format("lanes {} and {} write different values to {}", first, second, finding.memory), finding);
}

} // namespace tlc::emulator
