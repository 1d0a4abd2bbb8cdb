// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/check/Shadow.h"

namespace tlc::emulator {

namespace {

bool isRead(const Record &record) {
  return record.kind == AccessKind::read || record.kind == AccessKind::mbarrier;
}

Conflict judge(const Record &before, const Record &now, const Knowledge &known) {
  if (before.strong && now.strong)
    return Conflict::none;
  if (known.seen.at(before.column) < before.number)
    return Conflict::unordered;
  // The asynchronous engines do not see generic writes before a proxy fence;
  // generic reads are over once they are ordered.
  if (now.proxy == Proxy::async && before.proxy == Proxy::generic && !isRead(before) &&
      known.fenced.at(before.column) < before.number)
    return Conflict::unfenced;
  return Conflict::none;
}

} // namespace

Finding Shadow::access(uint32_t first, uint32_t end, const Record &access, const Knowledge &known) {
  for (uint32_t granule = first; granule < end; ++granule) {
    Cell &cell = cells[granule];
    if (cell.write.number != 0) {
      if (const Conflict conflict = judge(cell.write, access, known); conflict != Conflict::none)
        return {conflict, cell.write, granule};
    } else if (access.kind == AccessKind::read) {
      return {Conflict::unwritten, {}, granule};
    }
    if (isRead(access)) {
      addRead(cell, access, known.seen);
      continue;
    }
    if (cell.read.number != 0) {
      if (Finding found = checkReads(cell, access, known); found.conflict != Conflict::none) {
        found.granule = granule;
        return found;
      }
      clearReads(cell);
    }
    cell.write = access;
  }
  return {};
}

Finding Shadow::checkReads(const Cell &cell, const Record &access, const Knowledge &known) const {
  if (const Conflict conflict = judge(cell.read, access, known); conflict != Conflict::none)
    return {conflict, cell.read};
  for (const Record &read : lists[cell.moreReads])
    if (const Conflict conflict = judge(read, access, known); conflict != Conflict::none)
      return {conflict, read};
  return {};
}

void Shadow::addRead(Cell &cell, const Record &read, const Clock &seen) {
  // A read that comes before this one is before whatever this one is before.
  const auto covers = [&](const Record &old) {
    return old.column == read.column || seen.at(old.column) >= old.number;
  };
  if (cell.read.number == 0 || covers(cell.read)) {
    cell.read = read;
    return;
  }
  if (cell.moreReads == 0) {
    if (freeLists.empty()) {
      freeLists.push_back(uint32_t(lists.size()));
      lists.emplace_back();
    }
    cell.moreReads = freeLists.back();
    freeLists.pop_back();
  }
  std::vector<Record> &more = lists[cell.moreReads];
  for (Record &old : more)
    if (covers(old)) {
      old = read;
      return;
    }
  more.push_back(read);
}

void Shadow::clearReads(Cell &cell) {
  cell.read = {};
  if (cell.moreReads == 0)
    return;
  lists[cell.moreReads].clear();
  freeLists.push_back(cell.moreReads);
  cell.moreReads = 0;
}

} // namespace tlc::emulator
