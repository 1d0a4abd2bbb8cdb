// SPDX-License-Identifier: Apache-2.0
/// \file
/// A timeline as trace events, which Chrome and Perfetto show.
#include "runtime/emulator/trace/Export.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tlc::emulator {

namespace {

using Kind = TraceSpan::Kind;

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (result += '\\') += c;
    else if (uint8_t(c) < 0x20)
      result += fmt::format("\\u{:04x}", unsigned(uint8_t(c)));
    else
      result += c;
  }
  return result + '"';
}

class Writer {
public:
  /// The blocks are processes from `firstProcess` on. Arrows have numbers after `arrows`, which counts them.
  Writer(const Trace &trace, uint32_t firstProcess, std::string &events, uint32_t &arrows)
      : trace(trace), firstProcess(firstProcess), events(events), arrows(arrows) {}

  void run() {
    names();
    for (const TraceSpan &span : trace.spans)
      write(span);
    counters();
  }

private:
  /// In microseconds, as the format wants it; half cycles place the ends of arrows inside spans.
  std::string time(double cycles) const { return fmt::format("{:.6f}", cycles / trace.clockGhz / 1e3); }
  std::string place(uint32_t track) const {
    return fmt::format("\"pid\": {}, \"tid\": {}", trace.tracks[track].block + firstProcess, track + 1);
  }
  template <class... A> void event(fmt::format_string<A...> format, A &&...arguments) {
    events += fmt::format("{}{{{}}}", events.empty() ? "" : ",\n",
                          fmt::format(format, std::forward<A>(arguments)...));
  }

  void names() {
    for (uint32_t block = 0; block < trace.blocks; ++block)
      event("\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {}, \"args\": {{\"name\": {}}}",
            block + firstProcess,
            quoted(fmt::format("{}, block {}{}", trace.kernel, block,
                               trace.device.empty() ? "" : ", measured on " + trace.device)));
    for (uint32_t track = 0; track < trace.tracks.size(); ++track) {
      event("\"ph\": \"M\", \"name\": \"thread_name\", {}, \"args\": {{\"name\": {}}}", place(track),
            quoted(trace.tracks[track].name));
      event("\"ph\": \"M\", \"name\": \"thread_sort_index\", {}, \"args\": {{\"sort_index\": {}}}",
            place(track), track);
    }
  }

  void write(const TraceSpan &span) {
    std::string name = span.name, category;
    switch (span.kind) {
    case Kind::run:
      name = "run", category = "run";
      break;
    case Kind::wait:
      name = "wait for " + span.name, category = "wait";
      break;
    case Kind::stall:
      name = "wait for operands", category = "stall";
      break;
    case Kind::copy:
      category = "copy";
      break;
    case Kind::product:
      category = "product";
      break;
    case Kind::filling:
    case Kind::full:
      category = "slot";
      break;
    }
    std::string details = fmt::format("\"begin\": {}, \"cycles\": {}", span.begin, span.end - span.begin);
    if (!span.location.empty())
      details += ", \"location\": " + quoted(span.location);
    if (span.bytes != 0)
      details += fmt::format(", \"bytes\": {}", span.bytes);
    if (span.issued)
      details += fmt::format(", \"issued_by\": {}, \"issued\": {}",
                             quoted(trace.tracks[span.issued->track].name), span.issued->time);
    if (span.releasedBy)
      details += fmt::format(", \"released_by\": {}, \"released\": {}",
                             quoted(trace.tracks[span.releasedBy->track].name), span.releasedBy->time);
    if (!span.lines.empty()) {
      std::string lines;
      for (const auto &[line, cycles] : span.lines)
        lines += fmt::format("{}{}: {}", lines.empty() ? "" : ", ", quoted(line), cycles);
      details += ", \"lines\": {" + lines + "}";
    }
    event("\"ph\": \"X\", \"name\": {}, \"cat\": \"{}\", {}, \"ts\": {}, \"dur\": {}, \"args\": {{{}}}",
          quoted(name), category, place(span.track), time(double(span.begin)),
          time(double(span.end - span.begin)), details);
    if (span.releasedBy) {
      const uint32_t id = ++arrows;
      event("\"ph\": \"s\", \"name\": \"releases\", \"cat\": \"release\", \"id\": {}, {}, \"ts\": {}", id,
            place(span.releasedBy->track), time(double(span.releasedBy->time) - 0.5));
      event("\"ph\": \"f\", \"bp\": \"e\", \"name\": \"releases\", \"cat\": \"release\", \"id\": {}, {}, "
            "\"ts\": {}",
            id, place(span.track), time(double(span.end) - 0.5));
    }
  }

  void counters() {
    // Changes of the number of bytes that have been asked for and have not arrived, by block.
    for (uint32_t block = 0; block < trace.blocks; ++block) {
      std::map<uint64_t, int64_t> flight, products;
      for (const TraceSpan &span : trace.spans) {
        const TraceTrack &track = trace.tracks[span.track];
        if (track.block != block)
          continue;
        if (span.kind == Kind::copy && track.kind == TraceTrack::Kind::loads && span.issued) {
          flight[span.issued->time] += int64_t(span.bytes);
          flight[span.end] -= int64_t(span.bytes);
        } else if (span.kind == Kind::product) {
          products[span.begin] += 1;
          products[span.end] -= 1;
        }
      }
      counter(block, "bytes in flight", flight);
      counter(block, "tensor cores busy", products);
    }
  }

  void counter(uint32_t block, std::string_view name, const std::map<uint64_t, int64_t> &changes) {
    int64_t value = 0;
    for (const auto &[at, change] : changes) {
      if (change == 0)
        continue;
      value += change;
      event("\"ph\": \"C\", \"name\": {}, \"pid\": {}, \"ts\": {}, \"args\": {{\"value\": {}}}", quoted(name),
            block + firstProcess, time(double(at)), value);
    }
  }

  const Trace &trace;
  uint32_t firstProcess;
  std::string &events;
  uint32_t &arrows;
};

} // namespace

std::string toChromeJson(std::span<const Timeline> timelines) {
  std::string events;
  uint32_t process = 1, arrows = 0;
  for (const Timeline &timeline : timelines) {
    Writer(timeline.trace, process, events, arrows).run();
    process += timeline.trace.blocks;
  }
  const auto &[trace, summary] = timelines.front();
  return fmt::format(
      "{{\"displayTimeUnit\": \"ns\",\n\"otherData\": {{\"kernel\": {}, \"target\": {}, \"cycles\": {}, "
      "\"clock_ghz\": {}, \"floor_cycles\": {}}},\n\"traceEvents\": [\n{}\n]}}\n",
      quoted(trace.kernel), quoted(trace.target), trace.cycles, trace.clockGhz, floorCycles(trace, summary),
      events);
}

} // namespace tlc::emulator
