// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/RaceReport.h"

#include "runtime/emulator/report/DeviceNumber.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

/// The text of PTX lets an asynchronous write overtake reads by threads that a barrier orders before it.
FindingLevel levelOf(const Conflict &conflict, const Record &now) {
  const bool isReadByThreads = conflict.wrong == Wrong::unfenced &&
                               conflict.before.kind == AccessKind::read &&
                               conflict.before.proxy == Proxy::generic;
  return isReadByThreads && now.proxy == Proxy::async ? FindingLevel::warning : FindingLevel::error;
}

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

constexpr std::string_view distinctPositions =
    "no barrier helps; make the positions distinct, or use an atomic access (atomicAdd)";

bool areOfOneLine(const FindingSite &first, const FindingSite &second) {
  return first.line != 0 && first.file == second.file && first.line == second.line &&
         first.column == second.column;
}

} // namespace

const Instruction &RaceReport::instructionOf(const Record &record) const {
  const bool own = record.cluster == 0 || record.cluster == launch.numberOf(cluster);
  const Kernel &kernel = own ? *cluster.grid->kernel : *launch.shadow().launchOf(record.cluster).kernel;
  return kernel.code[record.pc];
}

FindingSite RaceReport::siteOfRecord(const Record &record) const {
  FindingSite site;
  if (record.cluster == 0 || record.cluster == launch.numberOf(cluster)) {
    const Warp &own = *clocks.warps()[record.warp].warp;
    site = siteOf(own, own.code[record.pc]);
  } else {
    const CheckedLaunch other = launch.shadow().launchOf(record.cluster);
    site = siteOf(*other.program, *other.names, record.warp % other.warpsOfBlock, instructionOf(record));
    site.block =
        blockId(other.blocks, other.cluster, record.cluster - other.first, record.warp / other.warpsOfBlock);
    if (record.device != cluster.grid->device)
      site.kernel = other.kernel->name;
    if (!cluster.grid->isAlone)
      site.device = record.device;
  }
  site.what = describe(record);
  site.repeat = record.repeat;
  if (record.lane < warpSize)
    site.lane = record.lane;
  return site;
}

std::string RaceReport::placeOfGlobal(uint64_t address) const {
  const MemoryRange *range = cluster.grid->memory->find(address);
  if (range && range->toMemory != 0)
    range = cluster.grid->memory->find(address += range->toMemory);
  const std::string device =
      cluster.grid->isAlone || !range ? "" : fmt::format(" of device {}", range->device);
  if (const auto element = describeElement(cluster.grid->tensors, address))
    return *element + device;
  if (!range)
    return fmt::format("global address {:#x}", address);
  return fmt::format("offset {} of the allocation of {} bytes at {:#x}{}", address - range->address,
                     range->bytes, range->address, device);
}

std::string RaceReport::placeOf(unsigned block, uint32_t address) const {
  std::string text = describeShared(cluster.blocks[block], address);
  if (cluster.blocks.size() > 1)
    text += fmt::format(" of block rank {}", block);
  return text;
}

std::string RaceReport::describe(const Record &record) const {
  const bool asynchronous = record.entry != record.warp;
  return fmt::format("{}{}", asynchronous ? "asynchronous " : "", nameOf(record.kind));
}

std::string RaceReport::missingBetweenClusters(const Record &before, const Record &now) const {
  const bool devices = before.device != now.device;
  const std::string scope = devices ? "scope .sys" : "scope .gpu, or wider,",
                    why = devices ? "; .gpu does not reach another device" : "";
  if (before.strength != Strength::weak && now.strength != Strength::weak)
    return scope + " of both" + why;
  const Knowledge &known = operations.running ? operations.running->knownOf(now.lane)
                                              : clocks.warps()[now.warp].laneSetOf(now.lane).known;
  if (Point::isForeign(known.narrow.get(), before, &ForeignClocks::seen))
    return fmt::format("{} at both ends of the synchronisation between these {}{}", scope,
                       devices ? "devices, fences included" : "blocks", why);
  const bool isFirstCopied = isCopyEngine(before.device), isSecondCopied = isCopyEngine(now.device);
  if (isFirstCopied && isSecondCopied)
    return "a launch between these copies that waits; rounds are in no order, nor are transfers beside one "
           "another";
  if (isFirstCopied || isSecondCopied)
    return "a wait for the element that the transfer sets afterwards, or a launch before the transfer that "
           "waits for the other access";
  return devices ? "a release and an acquire of scope .sys between these devices, or a wait of the host "
                   "for the first launch before the second"
                 : "a release and an acquire between these blocks; blocks run in any order";
}

std::string RaceReport::nameOfWarp(unsigned index) const {
  const Warp &warp = *clocks.warps()[index].warp;
  return cluster.blocks.size() > 1 ? fmt::format("warp {} of block rank {}", warp.index, warp.block->rank)
                                   : fmt::format("warp {}", warp.index);
}

bool RaceReport::isAwaited(const Record &copy, const Record &access) const {
  const WarpClock &warpClock = clocks.warps()[copy.warp];
  const CopyCommits *commits = operations.copyCommits(*warpClock.warp);
  return commits && std::ranges::any_of(warpClock.warp->groups, [&](const Group &group) {
           const Wait &wait = group.wait;
           if (wait.kind != Wait::Kind::asyncGroups || wait.engine != AsyncEngine::copy ||
               group.pc > access.pc || (copy.lane < warpSize && !(group.mask >> copy.lane & 1)))
             return false;
           const unsigned lane = copy.lane < warpSize ? copy.lane : unsigned(std::countr_zero(group.mask));
           return copy.number <= commits->completeAt(lane, wait.count).value_or(0);
         });
}

bool RaceReport::hasWaited(const Record &copy, const Record &now) const {
  if (clocks.ownerOf(copy.entry).kind != ClockOwner::Kind::laneCopies)
    return false;
  if (operations.running && copy.warp == now.warp && copy.lane == operations.running->lane)
    return copy.number <= operations.running->copiesOf(now.lane);
  const LaneSet &set = clocks.warps()[copy.warp].laneSetOf(copy.lane);
  const Point point{
      .known = set.known, .entries = clocks.parts(), .warp = copy.warp, .cluster = copy.cluster};
  return copy.number <= set.copies || point.comesAfter(copy) || isAwaited(copy, now);
}

std::string RaceReport::missingWait(const Record &record) const {
  using Kind = ClockOwner::Kind;
  const ClockOwner &of = clocks.ownerOf(record.entry);
  switch (of.kind) {
  case Kind::warp:
  case Kind::lane:
  case Kind::grid:
    break;
  case Kind::laneCopies:
    return fmt::format("cp.async.wait_group in {}", nameOfWarp(of.warp));
  case Kind::bulkCopies:
    return fmt::format("cp.async.bulk.wait_group{} in {}", record.kind == AccessKind::read ? ".read" : "",
                       nameOfWarp(of.warp));
  case Kind::tensorLoads:
  case Kind::tensorStores:
  case Kind::tensorPipe:
    return fmt::format("a wait for the mbarrier of a tcgen05.commit of {}", nameOfWarp(of.warp));
  case Kind::wgmma:
    return fmt::format("wgmma.wait_group in the warpgroup of {}", nameOfWarp(of.warp));
  case Kind::mbarrier:
    return fmt::format("a wait for phase {} of the mbarrier at {}", (record.number - 1) & 1,
                       placeOf(of.block, of.address));
  }
  return "";
}

std::string RaceReport::missingBarrier(unsigned waiting, unsigned other) const {
  return fmt::format("a barrier or mbarrier at which {} waits for {}", nameOfWarp(waiting),
                     nameOfWarp(other));
}

std::string RaceReport::missingAfter(const Record &operation, const Record &access) const {
  std::string text = missingWait(operation);
  if (clocks.ownerOf(operation.entry).kind == ClockOwner::Kind::laneCopies &&
      (access.warp != operation.warp || access.lane != operation.lane)) {
    // The lane that copies waits for itself alone.
    const std::string order = access.warp == operation.warp ? "bar.warp.sync in " + nameOfWarp(access.warp)
                                                            : missingBarrier(access.warp, operation.warp);
    text = isAwaited(operation, access) ? order : text + " and " + order;
  }
  return fmt::format("{} before that {}", text, nameOf(access.kind));
}

std::string RaceReport::missingOrder(const Record &first, const Record &second) const {
  if (first.cluster != second.cluster)
    return missingBetweenClusters(second, first);
  if (clocks.ownerOf(first.entry).kind != ClockOwner::Kind::warp)
    return missingAfter(first, second);
  return first.warp == second.warp ? fmt::format("bar.warp.sync in {} between them", nameOfWarp(first.warp))
                                   : missingBarrier(second.warp, first.warp);
}

std::string RaceReport::missing(const Record &before, const Record &now) const {
  using Kind = ClockOwner::Kind;
  if (before.cluster != now.cluster)
    return missingBetweenClusters(before, now);
  Knowledge missed;
  missed.seen = clocks.warps()[now.warp].missed;
  if (const Point wider{.known = missed, .entries = clocks.parts(), .warp = now.warp, .cluster = now.cluster};
      wider.comesAfter(before))
    return "scope .cluster, or wider, at both ends of the synchronisation between these blocks";
  const Kind kind = clocks.ownerOf(before.entry).kind, nowKind = clocks.ownerOf(now.entry).kind;
  const bool isSameWarp = before.warp == now.warp, isDone = hasWaited(before, now);
  if (nowKind == Kind::wgmma && (kind == Kind::warp || isDone)) {
    // All of the warpgroup have to know, the warp itself too.
    std::string order = fmt::format(
        "a barrier or mbarrier at which the warpgroup of {} waits for {}, before the product is issued",
        nameOfWarp(now.warp), nameOfWarp(before.warp));
    if (isDone || (isSameWarp && before.number <= operations.running->own))
      return order;
    return isSameWarp ? missingAfter(now, before) : order + ", or " + missingAfter(now, before);
  }
  if (kind == Kind::warp || isDone) {
    // What the issuing warp did before is known to the operation.
    if (isSameWarp)
      return isDone || !operations.running || before.number <= operations.running->own
                 ? fmt::format("bar.warp.sync in {} between them", nameOfWarp(now.warp))
                 : missingAfter(now, before);
    std::string order = missingBarrier(now.warp, before.warp);
    if (nowKind == Kind::warp)
      return order;
    return isDone ? order + ", before the operation is issued"
                  : order + ", before the operation is issued, or " + missingAfter(now, before);
  }
  std::string text = missingWait(before);
  if (kind == Kind::laneCopies && isSameWarp && before.lane != now.lane)
    text += " and bar.warp.sync after it";
  else if (kind == Kind::laneCopies && !isSameWarp)
    text += " and " + missingBarrier(now.warp, before.warp);
  for (size_t index = 0; index < clocks.warps().size(); ++index)
    if (index != now.warp && std::ranges::any_of(clocks.warps()[index].laneSets, [&](const LaneSet &set) {
          return set.known.seen.at(before.entry) >= before.number;
        }))
      return fmt::format("{0}, or a barrier after that of {1}", text, nameOfWarp(unsigned(index)));
  return text;
}

bool RaceReport::areOfOneStore(const Record &before, const Record &now, const Finding &finding) const {
  return before.kind == AccessKind::write && now.kind == AccessKind::write && before.entry == before.warp &&
         now.entry == now.warp && finding.before->role == finding.site.role &&
         finding.before->repeat == finding.site.repeat &&
         (&instructionOf(before) == &instructionOf(now) || areOfOneLine(*finding.before, finding.site));
}

std::string RaceReport::missingFence(const Record &before, const Record &now) const {
  if (now.proxy == Proxy::tensorMap)
    return "fence.proxy.tensormap::generic.release after that write, then "
           "fence.proxy.tensormap::generic.acquire "
           "of the map before its use";
  if (before.kind == AccessKind::initialise)
    return "fence.mbarrier_init after it, by the same thread";
  const bool haveAliases = (now.proxy == Proxy::multicast) != (before.proxy == Proxy::multicast);
  const bool isForEngines = now.proxy == Proxy::async;
  std::string fences = haveAliases ? "fence.proxy.alias" : "";
  if (isForEngines)
    fences += fmt::format("{}fence.proxy.async{}", haveAliases ? " and " : "",
                          now.cluster != 0 ? " (or .global)" : "");
  return fmt::format("{} between them, by a thread that is ordered after that {}{}", fences,
                     nameOf(before.kind), haveAliases ? ", because one of them has a multicast address" : "");
}

void RaceReport::report(Warp &warp, const Instruction &instruction, const Record &now,
                        const Conflict &conflict, const std::string &place) const {
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
  finding.level = levelOf(conflict, now);
  if (first && before.warp == now.warp && before.cluster == now.cluster)
    finding.reach = FindingReach::insideWarp;
  if (first && before.device != now.device)
    finding.reach = FindingReach::betweenDevices;
  const bool isFirstWrite = conflict.first && conflict.wrong == Wrong::unordered &&
                            before.kind == AccessKind::read &&
                            (before.cluster == 0 || launch.includes(before.cluster));
  if (isFirstWrite)
    cluster.findings.replaceUnwritten(first->line, place);
  if (cluster.findings.repeats(finding.kind, instruction.line, first ? first->line : 0, finding.reach,
                               finding.level))
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
      text = fmt::format("the exit of the block is not ordered after the {} of {} {}", finding.before->what,
                         place, by);
      finding.site.what = "exit";
    } else {
      text = fmt::format("{} between the {} of {} and the {} {}", toString(finding.kind), finding.site.what,
                         place, finding.before->what, by);
    }
    finding.missing =
        conflict.wrong == Wrong::unfenced ? missingFence(before, now)
        : areOfOneStore(before, now, finding)
            ? fmt::format("different addresses for two writes of one store: {}", distinctPositions)
        : conflict.wrong == Wrong::readOnly ? "ld.global without .nc, because this launch writes the memory"
        : isFirstWrite                      ? missingOrder(now, before)
        : conflict.wrong == Wrong::ended && clocks.ownerOf(before.entry).kind == ClockOwner::Kind::laneCopies
            ? missingWait(before)
            : missing(before, now);
  }
  record(warp, instruction, fmt::format("{}; missing: {}", text, finding.missing), finding);
}

void RaceReport::reportOverlap(Warp &warp, const Instruction &instruction, unsigned first, unsigned second,
                               Space space, uint64_t address) const {
  if (cluster.findings.repeats(FindingKind::lanes, instruction.line))
    return;
  Finding finding;
  finding.kind = FindingKind::lanes;
  finding.reach = FindingReach::insideWarp;
  if (isSharedAddress(space, address)) {
    const SharedPlace place = sharedPlace(warp, address);
    finding.memory = placeOf(place.block->rank, place.address);
  } else {
    finding.memory = placeOfGlobal(address);
  }
  finding.site.what = "write";
  record(warp, instruction,
         fmt::format("lanes {} and {} write different values to {}; {}", first, second, finding.memory,
                     distinctPositions),
         finding);
}

} // namespace tlc::emulator
