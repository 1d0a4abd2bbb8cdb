// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last accesses to each part of a piece of memory: a line of 16 bytes is
/// one part as long as accesses cover it whole, as those of copies and products
/// do, and granules once some access does not.
#pragma once

#include "runtime/emulator/check/Clock.h"
#include "runtime/emulator/exec/core/Memory.h"

#include <array>
#include <bit>
#include <memory>

namespace tlc::emulator {

/// A record's lane when several lanes made the access, or all as one.
inline constexpr uint8_t severalLanes = 32;
/// Several lanes wrote by one instruction. They take it for their own: they
/// wrote the same, else that is a finding of its own.
inline constexpr uint8_t alikeLanes = 33;
/// Some lanes have read, each by itself: those of the record's mask.
inline constexpr uint8_t someLanes = 34;

/// The line is all of one lane.
inline constexpr uint8_t oneLane = 4;

/// How far synchronisation of a scope is seen, between clusters.
enum class Reach : uint8_t { cluster, device, system };
inline constexpr Reach reaches[] = {Reach::cluster, Reach::device, Reach::system};
inline Reach reachOf(Scope scope) {
  return scope == Scope::sys ? Reach::system : scope == Scope::gpu ? Reach::device : Reach::cluster;
}

/// Which accesses threads may make at the same time.
enum class Strength : uint8_t { weak, strong };

/// An access as the shadow remembers it.
struct Record {
  uint32_t number = 0; ///< of the entry; 0: no access
  ClockEntry entry = 0;
  uint32_t pc = 0;
  uint32_t repeat = 0;  ///< how often the warp had run the instruction before
  uint32_t cluster = 0; ///< in global memory: the cluster's number in the shadow, from 1 on
  uint16_t warp = 0;    ///< in the cluster
  uint8_t lane = severalLanes;
  AccessKind kind : 3 = AccessKind::read;
  Strength strength : 1 = Strength::weak; ///< of the threads that its reach, and theirs, includes
  bool collective : 1 = false;            ///< by a warp as a whole, as ldmatrix and stmatrix
  Reach reach : 2 = Reach::cluster;
  Proxy proxy : 3 = Proxy::generic;
  /// On a line: each lane from `lane` on has 1 << laneShift bytes of it.
  uint8_t laneShift = oneLane;
  uint16_t device = 0;
  uint32_t lanes = 0; ///< of `someLanes`
};
static_assert(sizeof(Record) == 32);

/// Which lanes made it; of several as one: none by itself.
inline uint32_t lanesOf(const Record &record) {
  if (record.lane == someLanes)
    return record.lanes;
  if (record.lane >= severalLanes)
    return 0;
  return uint32_t(((uint64_t(1) << (16u >> record.laneShift)) - 1) << record.lane);
}

/// Entries of lanes that have passed on something of their own, without their warp.
class LaneEntries {
public:
  explicit LaneEntries(size_t warps) : warps(warps) {}
  /// 0, a warp's entry, when there is none.
  ClockEntry of(unsigned warp, unsigned lane) const {
    return warps[warp] && lane < severalLanes ? (*warps[warp])[lane] : 0;
  }
  void set(unsigned warp, unsigned lane, ClockEntry entry) {
    if (!warps[warp])
      warps[warp] = std::make_unique<std::array<ClockEntry, 32>>();
    (*warps[warp])[lane] = entry;
  }

private:
  std::vector<std::unique_ptr<std::array<ClockEntry, 32>>> warps;
};

/// Entries of warps and lanes beside the warps' own.
struct PartEntries {
  explicit PartEntries(size_t warps) : lanes(warps), copies(warps), lanesCopies(warps), initialisers(warps) {}
  LaneEntries lanes;              ///< what they did
  std::vector<ClockEntry> copies; ///< of each warp's cp.async; 0: there are none yet
  LaneEntries lanesCopies;
  LaneEntries initialisers; ///< fence.mbarrier_init of lanes that have initialised some
};

/// The point of a program at which a lane makes an access, or issues it.
struct Point {
  const Knowledge &known; ///< of what others did, the other lanes of the warp too
  const PartEntries &entries;
  FencedSpace space = FencedSpace::shared;
  uint64_t map = 0; ///< address of the tensor map that is read
  unsigned warp = 0;
  uint8_t lane = severalLanes, laneShift = oneLane;
  uint32_t own = 0;     ///< of the warp's numbers, up to where the lane's own accesses come before
  uint32_t copies = 0;  ///< up to where the lane has waited for its own cp.async
  uint32_t cluster = 0; ///< as a record's
  bool uniform = false; ///< of a copy: all lanes of the warp issued it with the same operands

  /// The launch that made it is over, and what it did seen by all.
  bool isOver(const Record &before) const {
    return before.cluster != cluster && known.foreign && known.foreign->isOver(before.cluster, before.device);
  }
  bool comesAfter(const Record &before) const {
    if (before.cluster != cluster)
      return isForeign(known.foreign.get(), before, &ForeignClocks::seen);
    return isIn(known.seen, before) || isOwn(before) || isPublished(before);
  }
  /// Whether an asynchronous engine sees what comes before.
  bool isFenced(const Record &before) const {
    if (before.cluster != cluster)
      return isForeign(known.foreign.get(), before, &ForeignClocks::fenced);
    return isIn(known.fencedIn(space), before) || isPublished(before);
  }
  /// Whether accesses by another address of the memory do.
  bool isAliasFenced(const Record &before) const {
    if (before.cluster != cluster)
      return isForeign(known.foreign.get(), before, &ForeignClocks::aliased);
    return isIn(known.fencedIn(FencedSpace::aliases), before);
  }
  /// Whether the proxy of tensor maps does. Of other clusters the order alone is looked at.
  bool isMapFenced(const Record &before) const {
    if (before.cluster != cluster)
      return true;
    if (!known.maps)
      return false;
    const auto found = known.maps->visible.find(map);
    return found != known.maps->visible.end() && isIn(found->second, before);
  }
  static bool isForeign(const Foreign *foreign, const Record &before, Clock ForeignClocks::*which) {
    if (!foreign)
      return false;
    if (foreign->isOver(before.cluster, before.device))
      return true;
    const auto found = foreign->clusters.find(before.cluster);
    return found != foreign->clusters.end() && (found->second.*which).at(before.entry) >= before.number;
  }

private:
  /// An initialisation of an mbarrier that fence.mbarrier_init follows.
  bool isPublished(const Record &before) const {
    if (before.kind != AccessKind::initialise)
      return false;
    const ClockEntry entry = entries.initialisers.of(before.warp, before.lane);
    return entry != 0 && known.seen.at(entry) >= before.number;
  }
  bool isIn(const Clock &clock, const Record &before) const {
    if (clock.at(before.entry) >= before.number)
      return true;
    if (before.entry != before.warp)
      return isCopy(before) && isInLane(clock, before, entries.lanesCopies, before.lane);
    if (before.lane == alikeLanes) {
      for (unsigned lane = 0; lane < severalLanes; ++lane)
        if (isInLane(clock, before, entries.lanes, lane))
          return true;
      return false;
    }
    // What all lanes did as one is passed on when each of them has passed on its own.
    const uint32_t lanesBefore = before.lane == severalLanes ? ~0u : lanesOf(before);
    // Of some lanes the lane's own read comes before.
    const bool isOneOfThem = before.lane == someLanes && before.warp == warp && before.number <= own;
    const uint32_t others = lanesBefore & ~(isOneOfThem && lane < severalLanes ? 1u << lane : 0);
    for (uint32_t left = others; left != 0; left &= left - 1)
      if (!isInLane(clock, before, entries.lanes, unsigned(std::countr_zero(left))))
        return false;
    return lanesBefore != 0;
  }
  /// By cp.async.
  bool isCopy(const Record &before) const { return before.entry == entries.copies[before.warp]; }
  static bool isInLane(const Clock &clock, const Record &before, const LaneEntries &lanes, unsigned lane) {
    const ClockEntry entry = lanes.of(before.warp, lane);
    return entry != 0 && clock.at(entry) >= before.number;
  }
  bool isOwn(const Record &before) const {
    if (lane == severalLanes || before.warp != warp ||
        (before.lane != alikeLanes && (before.lane != lane || before.laneShift != laneShift)))
      return false;
    return (before.entry == warp && before.number <= own) || (isCopy(before) && before.number <= copies);
  }
};

/// Why an access is wrong.
enum class Wrong : uint8_t {
  nothing,
  unordered, ///< nothing orders it with another
  unfenced,  ///< ordered, but no proxy fence on the way
  readOnly,  ///< read by way of the read-only cache, and written in the same launch
  unwritten, ///< the read has no write before it
  overlap,   ///< another lane writes the same place by the same instruction
  ended,     ///< the memory ends, and nothing orders the access before that
  early,     ///< the launch before this one may not be over
};
struct Conflict {
  Wrong wrong = Wrong::nothing;
  Record before; ///< not of `unwritten` and `early`
  uint64_t address = 0;
  bool first = false; ///< nothing had written the place before
};

/// Whether reads of what nothing has written are wrong.
enum class Unwritten : uint8_t { wrong, allowed };

class Shadow {
public:
  /// `granule` divides 16; accesses are multiples of it, and aligned to it.
  Shadow(uint32_t bytes, uint32_t granule, Unwritten unwritten = Unwritten::wrong)
      : granule(granule), unwritten(unwritten), lines(bytes / lineBytes + 1), pieces(lines.size()) {}
  /// [address, end) is accessed by `access` at a point of the program, each
  /// lane from the record's on having `laneBytes` of it; 0: all one lane. Adds
  /// what is wrong with that, each earlier instruction once.
  void access(uint32_t address, uint32_t end, Record access, uint32_t laneBytes, Point point,
              std::vector<Conflict> &conflicts);

  /// Adds the accesses that do not come before the point at which all of the memory ends.
  void end(const Point &point, std::vector<Conflict> &conflicts) const;

  /// As if nothing had ever been in [address, end).
  void forget(uint32_t address, uint32_t end);

  /// Accesses may be multiples of `finer` from now on, which divides the granule.
  void refine(uint32_t finer);

private:
  /// A write and the reads since that nothing orders with each other.
  struct Cell {
    Record write, read;
    uint32_t moreReads = 0; ///< the first node of a list; 0: none
    uint32_t weaker = 0;    ///< the node of a weaker write before `write`; 0: none
  };
  struct Node {
    Record record;
    uint32_t next = 0; ///< 0: the last one
  };
  static constexpr uint32_t lineBytes = 16;
  std::vector<Cell> &split(uint32_t line);
  Cell copyOf(const Cell &cell);
  Conflict access(Cell &cell, const Record &access, const Point &point);
  void replaceWrite(Cell &cell, const Record &write);
  void addRead(Cell &cell, const Record &read, const Point &point);
  Conflict checkReads(const Cell &cell, const Record &access, const Point &point) const;
  void clearReads(Cell &cell) { clearReads(cell, Strength::weak); }
  /// Leaves those that are weaker.
  void clearReads(Cell &cell, Strength strength);
  uint32_t newNode(Record record, uint32_t next);
  void freeNodes(uint32_t &first);

  uint32_t granule;
  Unwritten unwritten;
  std::vector<Cell> lines;
  std::vector<std::vector<Cell>> pieces; ///< of each line; empty: it is one
  std::vector<Node> nodes{1};
  uint32_t unused = 0; ///< the first node of a list
};

} // namespace tlc::emulator
