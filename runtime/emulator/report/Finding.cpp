// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which findings are alike, and what all of them say.
#include "runtime/emulator/report/Finding.h"

#include "runtime/emulator/report/DeviceNumber.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace tlc {

namespace {

/// Findings that an error shows in full.
constexpr size_t shown = 5;

/// Of memory; those of registers are inside of a warp.
bool isUnwritten(FindingKind kind, FindingReach reach) {
  return kind == FindingKind::unwritten && reach == FindingReach::betweenWarps;
}

bool isFatal(FindingKind kind) { return kind == FindingKind::fault || kind == FindingKind::deadlock; }

} // namespace

std::string_view toString(FindingKind kind) {
  switch (kind) {
  case FindingKind::race:
    return "race";
  case FindingKind::proxyRace:
    return "proxy race";
  case FindingKind::unwritten:
    return "unwritten";
  case FindingKind::lanes:
    return "lanes";
  case FindingKind::earlyExit:
    return "early exit";
  case FindingKind::productRegister:
    return "register of a product";
  case FindingKind::fault:
    return "fault";
  case FindingKind::deadlock:
    return "deadlock";
  }
  return "finding";
}

std::string_view toString(FindingLevel level) { return level == FindingLevel::error ? "error" : "warning"; }

std::string FindingSite::location() const {
  if (line == 0)
    return fmt::format("PTX line {}", ptxLine);
  return fmt::format("{}:{}:{}", file.empty() ? "?" : file, line, column);
}

std::string FindingSite::place() const {
  std::string text = kernel.empty() ? "" : fmt::format("'{}' on ", kernel);
  if (device)
    text += emulator::nameOfDevice(int(*device)) + ", ";
  text += fmt::format("block ({}, {}, {}), warp {}", block[0], block[1], block[2], warp);
  if (!role.empty())
    text += fmt::format(" ({})", role);
  if (lane)
    text += fmt::format(", lane {}", *lane);
  if (repeat && *repeat != 0)
    text += fmt::format(", repeat {}", *repeat);
  return text;
}

Findings::Key Findings::keyOf(const Finding &finding) {
  return {finding.kind, finding.site.ptxLine, finding.before ? finding.before->ptxLine : 0, finding.reach,
          finding.level};
}

bool Findings::repeats(FindingKind kind, unsigned ptxLine, unsigned beforePtxLine, FindingReach reach,
                       FindingLevel level) {
  if (isUnwritten(kind, reach) && raced.contains(ptxLine))
    return true;
  if (auto found = known.find({kind, ptxLine, beforePtxLine, reach, level}); found != known.end()) {
    ++list[found->second].count;
    return true;
  }
  // What ends the run is kept in any case, and warnings leave room for errors.
  const bool full = list.size() >= limit && count(level) >= limit && !isFatal(kind);
  dropped += full;
  return full;
}

void Findings::add(Finding finding) {
  const Key key = keyOf(finding);
  if (std::apply([&](auto... parts) { return repeats(parts...); }, key))
    return;
  known.emplace(key, list.size());
  list.push_back(std::move(finding));
}

void Findings::add(const Findings &others) {
  for (const Finding &finding : others.list) {
    const auto found = known.find(keyOf(finding));
    if (found != known.end())
      list[found->second].count += finding.count;
    else
      add(finding);
  }
  for (const unsigned ptxLine : others.raced)
    forgetUnwritten(ptxLine);
  dropped += others.dropped;
}

void Findings::replaceUnwritten(unsigned ptxLine, std::string_view memory) {
  for (size_t i = 0; i < list.size(); ++i)
    if (isUnwritten(list[i].kind, list[i].reach) && list[i].memory == memory)
      forgetUnwritten(list[i--].site.ptxLine);
  forgetUnwritten(ptxLine);
}

void Findings::forgetUnwritten(unsigned ptxLine) {
  raced.insert(ptxLine);
  if (std::erase_if(list, [&](const Finding &finding) {
        return isUnwritten(finding.kind, finding.reach) && finding.site.ptxLine == ptxLine;
      }) == 0)
    return;
  known.clear();
  for (size_t i = 0; i < list.size(); ++i)
    known.emplace(keyOf(list[i]), i);
}

size_t Findings::count(FindingLevel level) const {
  return size_t(std::ranges::count(list, level, &Finding::level));
}

std::string Findings::text() const {
  // First why the run has ended.
  std::vector<const Finding *> order;
  for (const Finding &finding : list)
    order.push_back(&finding);
  std::ranges::sort(order, {}, [](const Finding *finding) {
    return std::tuple(finding->level, !isFatal(finding->kind), finding);
  });
  std::string text;
  for (size_t i = 0; i < std::min(shown, order.size()); ++i)
    text += (i == 0 ? "" : "\n") + order[i]->message;
  for (const FindingLevel level : {FindingLevel::error, FindingLevel::warning}) {
    size_t more = 0;
    for (size_t i = shown; i < order.size(); ++i)
      more += order[i]->level == level;
    if (more != 0)
      text += fmt::format("\nand {} more {}{}", more, toString(level), more == 1 ? "" : "s");
  }
  if (dropped != 0)
    text += fmt::format("\nand others beyond the limit of {}", limit);
  return text;
}

} // namespace tlc
