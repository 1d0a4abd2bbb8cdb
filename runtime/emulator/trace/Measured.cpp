// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/trace/Measured.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace tlc::emulator {

namespace {

using Kind = TraceSpan::Kind;

/// The spans of one block.
class Block {
public:
  Block(Trace &trace, const Launch &launch, uint32_t rank) : trace(trace), launch(launch), rank(rank) {}

  void add(const BlockProfile &profile) {
    for (unsigned warp = 0; warp < profile.warps.size(); ++warp) {
      const WarpRole *role = launch.names.roleOf(warp);
      const uint32_t track =
          addTrack({TraceTrack::Kind::warp, rank,
                    role ? fmt::format("{}, warp {}", role->name, warp) : fmt::format("warp {}", warp),
                    role ? role->name : "", warp});
      addWarp(profile.warps[warp], track);
    }
    std::ranges::sort(looks, {}, [](const Look &look) { return std::tuple(look.time, look.mbarrier); });
    for (const SharedObject &object : launch.names.shared)
      if (object.kind == SharedObject::Kind::ring)
        for (unsigned slot = 0; slot < object.slots; ++slot)
          addSlot(object, slot, profile.cycles());
  }

private:
  /// A wait at a slot's mbarrier has ended.
  struct Look {
    uint64_t time = 0;
    uint32_t mbarrier = 0;
  };

  uint32_t addTrack(TraceTrack track) {
    trace.tracks.push_back(std::move(track));
    return uint32_t(trace.tracks.size() - 1);
  }

  std::string nameOf(const ProfileMark &mark, uint32_t object) const {
    switch (mark.kind) {
    case ProfileMark::Kind::mbarrier: {
      const std::string name = launch.names.nameOf(object);
      return name.empty() ? fmt::format("shared offset {}", object) : name;
    }
    case ProfileMark::Kind::barrier:
      return fmt::format("barrier {}", object);
    case ProfileMark::Kind::wait:
    case ProfileMark::Kind::loop:
      break;
    }
    return mark.awaited;
  }

  void addWarp(const WarpProfile &warp, uint32_t track) {
    uint64_t since = warp.begin;
    std::string location;
    const auto runUntil = [&](uint64_t time) {
      if (time > since)
        trace.spans.push_back({.kind = Kind::run,
                               .track = track,
                               .begin = since,
                               .end = time,
                               .location = location,
                               .lines = location.empty()
                                            ? std::map<std::string, uint64_t>()
                                            : std::map<std::string, uint64_t>{{location, time - since}}});
      since = time;
    };
    for (const WarpProfile::Record &record : warp.records) {
      const ProfileMark &mark = launch.names.marks[record.mark];
      runUntil(record.begin);
      location = mark.place.substr(mark.place.rfind('/') + 1);
      if (mark.kind == ProfileMark::Kind::loop)
        continue;
      trace.spans.push_back({.kind = Kind::wait,
                             .track = track,
                             .begin = record.begin,
                             .end = record.end,
                             .name = nameOf(mark, record.object),
                             .location = location});
      since = record.end;
      if (mark.kind == ProfileMark::Kind::mbarrier)
        looks.push_back({record.end, record.object});
    }
    if (warp.lost == 0)
      runUntil(warp.end);
  }

  void addSlot(const SharedObject &ring, unsigned slot, uint64_t end) {
    constexpr unsigned bytes = 8;
    const uint32_t full = ring.offset + slot * bytes, empty = full + ring.slots * bytes;
    const uint32_t track =
        addTrack({TraceTrack::Kind::slot, rank, fmt::format("{}[{}]", ring.name, slot), ring.name, slot});
    std::optional<TraceSpan> open;
    const auto closeAt = [&](uint64_t time) {
      if (open && time > open->begin) {
        open->end = time;
        trace.spans.push_back(std::move(*open));
      }
      open.reset();
    };
    for (const Look &look : looks) {
      const bool fills = look.mbarrier == empty;
      if (!fills && (look.mbarrier != full || !open || open->kind == Kind::full))
        continue; // of another slot, or the second one to see it
      closeAt(look.time);
      open = TraceSpan{.kind = fills ? Kind::filling : Kind::full,
                       .track = track,
                       .begin = look.time,
                       .name = fills ? "filling" : "full"};
    }
    closeAt(end);
  }

  Trace &trace;
  const Launch &launch;
  uint32_t rank;
  std::vector<Look> looks;
};

} // namespace

Trace measuredTrace(const Trace &modelled, const Launch &launch, std::span<const BlockProfile> blocks,
                    std::string device, double clockGhz) {
  Trace trace = modelled;
  trace.device = std::move(device);
  trace.clockGhz = clockGhz;
  trace.threadBytesIn = trace.threadBytesOut = trace.cycles = 0;
  trace.tracks.clear();
  trace.spans.clear();
  for (uint32_t rank = 0; rank < blocks.size(); ++rank) {
    Block(trace, launch, rank).add(blocks[rank]);
    trace.cycles = std::max(trace.cycles, blocks[rank].cycles());
  }
  std::ranges::sort(trace.spans, {},
                    [](const TraceSpan &span) { return std::tuple(span.begin, span.track, span.end); });
  return trace;
}

std::optional<double> clockGhzOf(std::span<const BlockProfile> blocks) {
  constexpr uint64_t leastTime = 10000; // the global timer may advance by a microsecond at a time
  for (const BlockProfile &block : blocks)
    if (block.endTime >= block.beginTime + leastTime)
      return double(block.cycles()) / double(block.endTime - block.beginTime);
  return std::nullopt;
}

} // namespace tlc::emulator
