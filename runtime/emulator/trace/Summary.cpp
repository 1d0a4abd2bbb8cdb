// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/trace/Summary.h"

#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Occupancy.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace tlc::emulator {

namespace {

using Kind = TraceSpan::Kind;

/// What a warp waits for, in order. Barriers of all threads do not count: whoever arrives last does not wait.
std::vector<std::string> outline(const std::vector<const TraceSpan *> &spans) {
  std::vector<std::string> result;
  for (const TraceSpan *span : spans)
    if (span->kind == Kind::wait && !span->name.ends_with("barrier") && !span->name.starts_with("barrier "))
      result.push_back(span->name);
  return result;
}

/// What the warps that issue products do while the tensor cores have none, from the first product to the
/// last.
std::vector<std::pair<std::string, uint64_t>>
idleCauses(const Trace &trace, const std::vector<std::vector<const TraceSpan *>> &ofTrack) {
  std::map<std::string, uint64_t> causes;
  for (uint32_t block = 0; block < trace.blocks; ++block) {
    std::map<std::string, uint64_t> ofBlock;
    std::set<uint32_t> issuers;
    std::vector<std::pair<uint64_t, uint64_t>> gaps;
    uint64_t busyUntil = 0;
    for (const TraceSpan &span : trace.spans) {
      if (span.kind != Kind::product || trace.tracks[span.track].block != block)
        continue;
      if (!issuers.empty() && span.begin > busyUntil)
        gaps.emplace_back(busyUntil, span.begin);
      busyUntil = std::max(busyUntil, span.end);
      issuers.insert(span.issued->track);
    }
    for (const uint32_t track : issuers) {
      auto gap = gaps.begin();
      for (const TraceSpan *span : ofTrack[track]) {
        while (gap != gaps.end() && gap->second <= span->begin)
          ++gap;
        const std::string name = span->kind == Kind::run     ? "run"
                                 : span->kind == Kind::stall ? "wait for operands"
                                                             : "wait for " + withoutSlot(span->name);
        for (auto meets = gap; meets != gaps.end() && meets->first < span->end; ++meets)
          ofBlock[name] += std::min(span->end, meets->second) - std::max(span->begin, meets->first);
      }
    }
    for (const auto &[name, cycles] : ofBlock)
      causes[name] += cycles / issuers.size() / trace.blocks;
  }
  std::vector<std::pair<std::string, uint64_t>> result(causes.begin(), causes.end());
  std::erase_if(result, [](const auto &cause) { return cause.second == 0; });
  std::sort(result.begin(), result.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  return result;
}

using NamedCycles = std::vector<std::pair<std::string, uint64_t>>;

void add(NamedCycles &to, const std::string &name, uint64_t cycles) {
  auto found = std::find_if(to.begin(), to.end(), [&](const auto &known) { return known.first == name; });
  if (found == to.end())
    to.emplace_back(name, cycles);
  else
    found->second += cycles;
}

std::string laneName(const Trace &trace, const TraceLane &lane) {
  const TraceTrack &first = trace.tracks[lane.tracks.front()], &last = trace.tracks[lane.tracks.back()];
  const std::string role = first.role.empty() ? "" : first.role + ", ";
  return lane.tracks.size() == 1 ? fmt::format("{}warp {}", role, first.warp)
                                 : fmt::format("{}warps {}-{}", role, first.warp, last.warp);
}

/// Where a lane runs longest: " (a.cpp:5:3 20 %, a.cpp:9:3 7 %)"; empty if nowhere for long.
std::string linesText(const LaneSummary &lane, const std::function<double(uint64_t)> &share) {
  constexpr size_t most = 4;
  constexpr double least = 2; // percent
  std::string text;
  for (size_t i = 0; i < std::min(most, lane.lines.size()); ++i)
    if (const double percent = share(lane.lines[i].second / lane.lane.tracks.size()); percent >= least)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", lane.lines[i].first, percent);
  return text.empty() ? text : " (" + text + ")";
}

/// Shorter lives in a long timeline are those of warps with nothing to do.
uint64_t shortLife(const Trace &trace) { return std::min<uint64_t>(200, trace.cycles / 4); }

} // namespace

std::string withoutSlot(const std::string &name) {
  const size_t open = name.rfind('[');
  return open != name.npos && name.ends_with("]") ? name.substr(0, open) : name;
}

double microseconds(const Trace &trace, uint64_t cycles) { return double(cycles) / trace.clockGhz / 1e3; }

double launchMicroseconds(const Trace &trace, const Launch &launch, const Target &target,
                          int multiprocessors) {
  const unsigned together =
      std::max(1u, occupancyOf({launch.threads, 1, launch.sharedBytes}, target).blocks());
  const auto blocks = int64_t(trace.grid[0]) * trace.grid[1] * trace.grid[2];
  return microseconds(trace, trace.cycles) * double(ceilDiv(blocks, int64_t(together) * multiprocessors));
}

uint64_t floorCycles(const Trace &trace, const TraceSummary &summary) {
  const uint64_t blocks = trace.blocks;
  return std::max({uint64_t(summary.peakCycles) / blocks, summary.bytesIn / blocks / trace.loadBytesPerCycle,
                   summary.bytesOut / blocks / trace.storeBytesPerCycle});
}

TraceSummary summarise(const Trace &trace) {
  TraceSummary summary;
  summary.bytesIn = trace.threadBytesIn, summary.bytesOut = trace.threadBytesOut;
  std::vector<std::vector<const TraceSpan *>> ofTrack(trace.tracks.size());
  std::set<uint32_t> copiers; ///< tracks of warps that issue copies
  std::optional<uint64_t> firstProduct;
  uint64_t lastProduct = 0;
  for (const TraceSpan &span : trace.spans) {
    ofTrack[span.track].push_back(&span);
    if (span.kind == Kind::product) {
      firstProduct = std::min(firstProduct.value_or(span.begin), span.begin);
      lastProduct = std::max(lastProduct, span.end);
      summary.productCycles += span.end - span.begin;
      summary.peakCycles += span.peakCycles;
    } else if (span.kind == Kind::copy) {
      (trace.tracks[span.track].kind == TraceTrack::Kind::loads ? summary.bytesIn : summary.bytesOut) +=
          span.bytes;
      copiers.insert(span.issued->track);
    }
  }
  summary.productCycles /= trace.blocks;
  if (firstProduct)
    summary.phases = {*firstProduct, lastProduct - *firstProduct, trace.cycles - lastProduct};
  summary.idleCauses = idleCauses(trace, ofTrack);

  for (uint32_t track = 0; track < trace.tracks.size(); ++track) {
    const TraceTrack &info = trace.tracks[track];
    if (info.kind != TraceTrack::Kind::warp)
      continue;
    const auto &spans = ofTrack[track];
    const uint64_t end = spans.empty() ? 0 : spans.back()->end;
    if (end <= shortLife(trace)) {
      summary.idle.push_back(info.name);
      continue;
    }
    LaneSummary *last = summary.lanes.empty() ? nullptr : &summary.lanes.back();
    const TraceTrack *before = last ? &trace.tracks[last->lane.tracks.back()] : nullptr;
    const bool joins = last && before->block == info.block && before->role == info.role &&
                       before->warp + 1 == info.warp && info.warp % warpsPerWarpgroup != 0 &&
                       copiers.contains(last->lane.tracks.front()) == copiers.contains(track) &&
                       outline(ofTrack[last->lane.tracks.front()]) == outline(spans);
    if (!joins) {
      summary.lanes.push_back({});
      last = &summary.lanes.back();
      last->lane.block = info.block;
    }
    last->lane.tracks.push_back(track);
    last->done += trace.cycles - end;
    for (const TraceSpan *span : spans) {
      const uint64_t cycles = span->end - span->begin;
      if (span->kind == Kind::run) {
        last->run += cycles;
        for (const auto &[line, ofLine] : span->lines)
          add(last->lines, line, ofLine);
      } else if (span->kind == Kind::stall) {
        last->stall += cycles;
      } else if (span->kind == Kind::wait) {
        add(last->waits, withoutSlot(span->name), cycles);
      }
    }
  }
  for (LaneSummary &lane : summary.lanes) {
    lane.lane.name = laneName(trace, lane.lane);
    for (NamedCycles *cycles : {&lane.waits, &lane.lines})
      std::sort(cycles->begin(), cycles->end(), [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
      });
  }
  return summary;
}

std::string summaryText(const Trace &trace, const TraceSummary &summary) {
  const auto share = [&](uint64_t cycles) {
    return 100.0 * double(cycles) / double(std::max<uint64_t>(1, trace.cycles));
  };
  std::string text = fmt::format("{}: block ({}, {}, {}) of {} x {} x {}, {} threads, {} {}\n", trace.kernel,
                                 trace.block[0], trace.block[1], trace.block[2], trace.grid[0], trace.grid[1],
                                 trace.grid[2], trace.threads[0] * trace.threads[1] * trace.threads[2],
                                 trace.device.empty() ? "on the model of" : "measured on",
                                 trace.device.empty() ? trace.target : trace.device);
  text += fmt::format("{} cycles, {:.2f} us at {:.3g} GHz", trace.cycles, microseconds(trace, trace.cycles),
                      trace.clockGhz);
  text += trace.device.empty() ? fmt::format("; the floor is {} cycles ({:.0f} %)\n",
                                             floorCycles(trace, summary), share(floorCycles(trace, summary)))
                               : "\n";
  if (summary.phases) {
    const auto &[before, steady, after] = *summary.phases;
    text += fmt::format(
        "tensor cores: busy {:.0f} %, {:.0f} % of their peak; {} cycles before the first product, {} "
        "until the last, {} after it\n",
        share(summary.productCycles), share(uint64_t(summary.peakCycles) / trace.blocks), before, steady,
        after);
    if (!summary.idleCauses.empty()) {
      text += "tensor cores idle in between while the warps that feed them";
      for (const auto &[name, cycles] : summary.idleCauses)
        text += fmt::format("{} {}: {} cycles", &cycles == &summary.idleCauses.front().second ? "" : ",",
                            name, cycles);
      text += '\n';
    }
  }
  if (summary.bytesIn + summary.bytesOut != 0)
    text += fmt::format(
        "memory: {} bytes in, {:.0f} % of the bandwidth; {} bytes out, {:.0f} % of the bandwidth\n",
        summary.bytesIn, share(summary.bytesIn / trace.blocks / trace.loadBytesPerCycle), summary.bytesOut,
        share(summary.bytesOut / trace.blocks / trace.storeBytesPerCycle));
  for (const LaneSummary &lane : summary.lanes) {
    const uint64_t warps = lane.lane.tracks.size();
    text +=
        fmt::format("{}{}: runs {:.0f} %", trace.blocks > 1 ? fmt::format("block {}, ", lane.lane.block) : "",
                    lane.lane.name, share(lane.run / warps));
    text += linesText(lane, share);
    for (const auto &[name, cycles] : lane.waits)
      if (share(cycles / warps) >= 0.5)
        text += fmt::format(", waits for {} {:.0f} %", name, share(cycles / warps));
    if (share(lane.stall / warps) >= 0.5)
      text += fmt::format(", for operands {:.0f} %", share(lane.stall / warps));
    if (share(lane.done / warps) >= 0.5)
      text += fmt::format(", is done {:.0f} %", share(lane.done / warps));
    text += '\n';
  }
  if (!summary.idle.empty())
    text += fmt::format("{} at once: {}\n",
                        summary.idle.size() == 1 ? "1 warp leaves"
                                                 : fmt::format("{} warps leave", summary.idle.size()),
                        fmt::join(summary.idle, "; "));
  return text;
}

} // namespace tlc::emulator
