// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is wrong with an access after another one, and what is kept of both.
#include "runtime/emulator/check/Shadow.h"

#include <algorithm>
#include <bit>

namespace tlc::emulator {

namespace {

/// Reads of a cell that are kept beside the last one. Nothing orders them, so that
/// a write that is ordered after these is mostly ordered after all.
constexpr uint32_t maximumReads = 16;

bool isRead(const Record &record) {
  return record.kind == AccessKind::read || record.kind == AccessKind::mbarrier;
}

/// Whether threads may make both at the same time.
bool mayMeet(const Record &before, const Record &now) {
  if (before.strength == Strength::weak || now.strength == Strength::weak)
    return false;
  const Reach reach = std::min(before.reach, now.reach);
  return before.cluster == now.cluster ||
         reach >= (before.device == now.device ? Reach::device : Reach::system);
}

/// Whether both write the same, or a warp makes them one after the other.
bool areAlike(const Record &before, const Record &now, const Point &point) {
  if (before.cluster != now.cluster || before.warp != now.warp)
    return false;
  const bool isSameIssue = before.entry != before.warp && before.pc == now.pc && before.repeat == now.repeat;
  return (point.uniform && isSameIssue) || (before.collective && now.collective);
}

Wrong judge(const Record &before, const Record &now, const Point &point) {
  if (mayMeet(before, now) || point.isOver(before) || areAlike(before, now, point))
    return Wrong::nothing;
  // Reads and writes of one execution of an instruction never meet.
  if (before.cluster == now.cluster && before.entry == now.entry && before.entry == before.warp &&
      before.pc == now.pc && before.number == now.number && before.repeat == now.repeat)
    return Wrong::overlap;
  if ((now.proxy == Proxy::readOnly && !isRead(before)) || (before.proxy == Proxy::readOnly && !isRead(now)))
    return Wrong::readOnly;
  if (!point.comesAfter(before))
    return Wrong::unordered;
  if (now.proxy == Proxy::tensor && !point.isFenced(before))
    return Wrong::unfenced;
  // Without a proxy fence the asynchronous engines neither see generic writes nor wait for generic reads: on
  // an H200 a copy overwrote what loads before a barrier had yet to read.
  const bool isByThreads = before.proxy == Proxy::generic || before.proxy == Proxy::multicast;
  if (now.proxy == Proxy::async && isByThreads && !point.isFenced(before))
    return Wrong::unfenced;
  if (now.proxy == Proxy::tensorMap && !isRead(before) && !point.isMapFenced(before))
    return Wrong::unfenced;
  if ((now.proxy == Proxy::multicast) != (before.proxy == Proxy::multicast) && !point.isAliasFenced(before))
    return Wrong::unfenced;
  return Wrong::nothing;
}

} // namespace

void Shadow::access(uint32_t address, uint32_t end, Record record, uint32_t laneBytes, Point point,
                    std::vector<Conflict> &conflicts) {
  const auto note = [&](Conflict conflict, uint32_t at) {
    if (conflict.wrong == Wrong::nothing)
      return;
    const auto known = std::ranges::find_if(conflicts, [&](const Conflict &other) {
      return other.wrong == conflict.wrong && other.before.pc == conflict.before.pc &&
             (other.before.warp == record.warp) == (conflict.before.warp == record.warp);
    });
    if (known != conflicts.end()) {
      known->first |= conflict.first;
      return;
    }
    conflict.address = at;
    conflicts.push_back(conflict);
  };
  const uint32_t start = address;
  const uint8_t firstLane = record.lane, shift = uint8_t(std::countr_zero(std::max(laneBytes, 1u)));
  const auto setLane = [&](uint32_t at, uint8_t laneShift) {
    if (laneBytes == 0 || firstLane == severalLanes)
      return;
    record.lane = point.lane = uint8_t(firstLane + ((at - start) >> shift));
    record.laneShift = point.laneShift = laneShift;
  };
  while (address < end) {
    const uint32_t line = address / lineBytes, next = std::min(end, (line + 1) * lineBytes);
    const bool whole = next - address == lineBytes;
    if (whole && pieces[line].empty()) {
      setLane(address, std::min(shift, oneLane));
      note(access(lines[line], record, point), address);
    } else {
      std::vector<Cell> &cells = split(line);
      for (uint32_t at = address; at < next; at += granule) {
        setLane(at, oneLane);
        note(access(cells[at % lineBytes / granule], record, point), at);
      }
      const bool haveReads =
          std::ranges::any_of(cells, [](const Cell &cell) { return cell.read.number != 0; });
      if (whole && !isRead(record) && !haveReads) {
        // All pieces are alike again: this write, and no reads.
        for (size_t i = 1; i < cells.size(); ++i)
          freeNodes(cells[i].weaker);
        lines[line] = cells[0];
        lines[line].write.laneShift = laneBytes == 0 ? oneLane : std::min(shift, oneLane);
        cells.clear(); // keeps its memory: lines are split again and again
      }
    }
    address = next;
  }
}

void Shadow::end(const Point &point, std::vector<Conflict> &conflicts) const {
  const auto look = [&](const Record &before, uint32_t address) {
    if (before.number == 0 || point.comesAfter(before) ||
        std::any_of(conflicts.begin(), conflicts.end(),
                    [&](const Conflict &other) { return other.before.pc == before.pc; }))
      return;
    conflicts.push_back({Wrong::ended, before, address});
  };
  const auto lookAtCell = [&](const Cell &cell, uint32_t address) {
    look(cell.write, address);
    look(cell.read, address);
    for (uint32_t node = cell.moreReads; node != 0; node = nodes[node].next)
      look(nodes[node].record, address);
  };
  for (uint32_t line = 0; line < lines.size(); ++line) {
    lookAtCell(lines[line], line * lineBytes);
    for (uint32_t i = 0; i < pieces[line].size(); ++i)
      lookAtCell(pieces[line][i], line * lineBytes + i * granule);
  }
}

void Shadow::forget(uint32_t address, uint32_t end) {
  for (; address < end; address += granule) {
    Cell &cell = split(address / lineBytes)[address % lineBytes / granule];
    clearReads(cell);
    freeNodes(cell.weaker);
    cell = Cell();
  }
}

void Shadow::refine(uint32_t finer) {
  if (finer >= granule)
    return;
  for (std::vector<Cell> &cells : pieces) {
    std::vector<Cell> finerCells;
    for (const Cell &cell : cells)
      for (uint32_t at = 0; at < granule; at += finer)
        finerCells.push_back(at == 0 ? cell : copyOf(cell));
    cells = std::move(finerCells);
  }
  granule = finer;
}

Shadow::Cell Shadow::copyOf(const Cell &cell) {
  Cell copy = cell;
  copy.moreReads = 0;
  for (uint32_t node = cell.moreReads; node != 0; node = nodes[node].next)
    copy.moreReads = newNode(nodes[node].record, copy.moreReads);
  if (cell.weaker != 0)
    copy.weaker = newNode(nodes[cell.weaker].record, 0);
  return copy;
}

std::vector<Shadow::Cell> &Shadow::split(uint32_t line) {
  std::vector<Cell> &cells = pieces[line];
  if (!cells.empty())
    return cells;
  cells.push_back(lines[line]);
  while (cells.size() < lineBytes / granule)
    cells.push_back(copyOf(lines[line]));
  for (uint32_t i = 0; i < cells.size(); ++i) {
    const auto take = [&](Record &record) {
      if (record.lane < severalLanes)
        record.lane += uint8_t(i * granule >> record.laneShift);
      record.laneShift = oneLane;
    };
    take(cells[i].write);
    take(cells[i].read);
    for (uint32_t node = cells[i].moreReads; node != 0; node = nodes[node].next)
      take(nodes[node].record);
    if (cells[i].weaker != 0)
      take(nodes[cells[i].weaker].record);
  }
  lines[line] = Cell();
  return cells;
}

Conflict Shadow::access(Cell &cell, const Record &access, const Point &point) {
  Conflict conflict;
  if (cell.write.number != 0) {
    conflict = {judge(cell.write, access, point), cell.write};
    if (conflict.wrong == Wrong::nothing && cell.weaker != 0)
      conflict = {judge(nodes[cell.weaker].record, access, point), nodes[cell.weaker].record};
  } else if (access.kind == AccessKind::read && unwritten == Unwritten::wrong) {
    conflict.wrong = Wrong::unwritten;
  }
  if (isRead(access)) {
    addRead(cell, access, point);
    return conflict;
  }
  if (cell.read.number != 0) {
    if (conflict.wrong == Wrong::nothing) {
      conflict = checkReads(cell, access, point);
      conflict.first = cell.write.number == 0;
    }
    // What may be at the same time as this one need not be at the same time as a weaker read.
    clearReads(cell, conflict.wrong == Wrong::nothing ? access.strength : Strength::weak);
  }
  replaceWrite(cell, access);
  if (conflict.wrong == Wrong::overlap)
    cell.write.lane = alikeLanes, cell.write.laneShift = oneLane;
  return conflict;
}

void Shadow::replaceWrite(Cell &cell, const Record &write) {
  // What may be at the same time as this one need not be at the same time as the one before.
  if (cell.weaker != 0 && write.strength <= nodes[cell.weaker].record.strength)
    freeNodes(cell.weaker);
  if (cell.weaker == 0 && cell.write.number != 0 && write.strength > cell.write.strength)
    cell.weaker = newNode(cell.write, 0);
  cell.write = write;
}

Conflict Shadow::checkReads(const Cell &cell, const Record &access, const Point &point) const {
  Conflict conflict = {judge(cell.read, access, point), cell.read};
  // A read that lacks only a fence must not hide one that lacks the order.
  for (uint32_t node = cell.moreReads; node != 0; node = nodes[node].next) {
    if (conflict.wrong != Wrong::nothing && conflict.wrong != Wrong::unfenced)
      break;
    if (const Wrong wrong = judge(nodes[node].record, access, point); wrong != Wrong::nothing)
      if (conflict.wrong == Wrong::nothing || wrong != Wrong::unfenced)
        conflict = {wrong, nodes[node].record};
  }
  return conflict;
}

void Shadow::addRead(Cell &cell, const Record &read, const Point &point) {
  // A read that comes before this one is before whatever this one is before.
  // Those of a warp's lanes at the same time become one of these lanes.
  // What races with this one must race with the one that it replaces.
  const auto replaces = [&](Record &old) {
    if (point.comesAfter(old) && (read.proxy != Proxy::tensor || point.isFenced(old))) {
      const bool needsFence = old.proxy == Proxy::generic || old.proxy == Proxy::multicast;
      if (old.strength < read.strength || (needsFence && read.proxy != old.proxy))
        return false;
      old = read;
      return true;
    }
    if (old.entry != read.entry || old.cluster != read.cluster || old.strength != read.strength ||
        old.collective != read.collective || old.proxy != read.proxy)
      return false;
    if (old.entry != old.warp || (old.lane == read.lane && old.laneShift == read.laneShift)) {
      old = read;
      return true;
    }
    if (old.number != read.number)
      return false;
    const uint32_t together = lanesOf(old) | lanesOf(read);
    const bool asOne = lanesOf(old) == 0 || lanesOf(read) == 0;
    old = read;
    old.lane = asOne ? severalLanes : someLanes, old.laneShift = oneLane;
    old.lanes = asOne ? 0 : together;
    return true;
  };
  if (cell.read.number == 0) {
    cell.read = read;
    return;
  }
  if (replaces(cell.read))
    return;
  // Of many that nothing orders some will do.
  uint32_t count = 0, spared = 0;
  for (uint32_t node = cell.moreReads; node != 0; node = nodes[node].next) {
    if (replaces(nodes[node].record))
      return;
    if (count++ == read.pc % maximumReads)
      spared = node;
  }
  if (count < maximumReads)
    cell.moreReads = newNode(read, cell.moreReads);
  else
    nodes[spared].record = read;
}

uint32_t Shadow::newNode(Record record, uint32_t next) {
  uint32_t node = unused;
  if (node == 0) {
    node = uint32_t(nodes.size());
    nodes.emplace_back();
  } else {
    unused = nodes[node].next;
  }
  nodes[node] = {record, next};
  return node;
}

void Shadow::freeNodes(uint32_t &first) {
  while (const uint32_t node = first) {
    first = nodes[node].next;
    nodes[node].next = unused;
    unused = node;
  }
}

void Shadow::clearReads(Cell &cell, Strength strength) {
  uint32_t kept = 0;
  while (const uint32_t node = cell.moreReads) {
    cell.moreReads = nodes[node].next;
    uint32_t &list = nodes[node].record.strength < strength ? kept : unused;
    nodes[node].next = list;
    list = node;
  }
  cell.moreReads = kept;
  if (cell.read.strength < strength)
    return;
  cell.read = kept == 0 ? Record() : nodes[kept].record;
  if (kept != 0) {
    cell.moreReads = nodes[kept].next;
    nodes[kept].next = unused;
    unused = kept;
  }
}

} // namespace tlc::emulator
